//! Which column of a file is which. Our own names, and those that files usually have, are recognised; `--map` says the
//! rest. Two columns that could be the same value are an error, not a choice.

use unicode_normalization::UnicodeNormalization as _;

use super::Kind;

/// A value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Our name.
    pub name: &'static str,
    /// A file without it cannot be loaded.
    pub required: bool,
    aliases: &'static [&'static str],
}

const fn required(name: &'static str, aliases: &'static [&'static str]) -> Column {
    Column { name, required: true, aliases }
}

const fn optional(name: &'static str, aliases: &'static [&'static str]) -> Column {
    Column { name, required: false, aliases }
}

const CUSTOMER_CODES: &[&str] = &[
    "得意先コード",
    "顧客コード",
    "取引先コード",
    "得意先CD",
    "顧客CD",
    "取引先CD",
    "得意先番号",
    "顧客番号",
    "顧客ID",
    "得意先No",
    "customer code",
    "customer id",
    "customer number",
    "customer no",
];

pub(super) const CUSTOMERS: [Column; 5] = [
    required("code_customer", CUSTOMER_CODES),
    required(
        "name_customer",
        &[
            "得意先名",
            "顧客名",
            "取引先名",
            "得意先名称",
            "顧客名称",
            "取引先名称",
            "会社名",
            "customer name",
            "name",
            "company",
        ],
    ),
    optional("address", &["住所", "所在地", "得意先住所", "顧客住所"]),
    optional("phone", &["電話", "電話番号", "TEL", "phone number", "telephone"]),
    required("department", &["部門", "部署", "部門名", "部署名", "担当部門", "担当部署"]),
];

pub(super) const STAFF: [Column; 6] = [
    required(
        "team",
        &["team id", "slack team", "チーム", "チームID", "ワークスペース", "ワークスペースID", "workspace"],
    ),
    required(
        "user",
        &[
            "user id",
            "slack id",
            "slack user",
            "slack user id",
            "ユーザー",
            "ユーザーID",
            "ユーザID",
            "SlackユーザーID",
        ],
    ),
    optional("display_name", &["名前", "氏名", "表示名", "担当者名", "name"]),
    required("role", &["役割", "権限", "ロール"]),
    required("departments", &["部門", "部署", "部門名", "部署名", "department"]),
    optional("active", &["有効"]),
];

pub(super) const SALES: [Column; 6] = [
    required(
        "code_sales",
        &[
            "売上番号",
            "売上コード",
            "売上No",
            "販売番号",
            "販売コード",
            "伝票番号",
            "伝票No",
            "売上伝票番号",
            "sales code",
            "sales number",
            "sale number",
            "invoice number",
        ],
    ),
    required("code_customer", CUSTOMER_CODES),
    required(
        "date_sales",
        &[
            "sales_date",
            "売上日",
            "販売日",
            "売上年月日",
            "販売年月日",
            "売上日付",
            "日付",
            "伝票日付",
            "sale date",
            "date",
        ],
    ),
    required("products", &["商品", "品名", "商品名", "品目", "内容", "product"]),
    required("price", &["金額", "売上金額", "販売金額", "売上額", "合計金額", "amount"]),
    optional(
        "registered_by",
        &["担当", "担当者", "担当者名", "営業担当", "営業担当者", "登録者", "salesperson", "staff"],
    ),
];

impl Kind {
    /// What a line of such a file can hold.
    pub fn columns(self) -> &'static [Column] {
        match self {
            Self::Customers => &CUSTOMERS,
            Self::Staff => &STAFF,
            Self::Sales => &SALES,
        }
    }
}

/// Where the values of a line stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// For each column of the kind, in order: its place in the file.
    places: Vec<Option<usize>>,
    headers: Vec<String>,
    ignored: Vec<String>,
}

/// How a header is compared: width, case, blanks, punctuation and the unit (円) do not matter.
fn plain(header: &str) -> String {
    let text: String = header.nfkc().flat_map(char::to_lowercase).filter(|c| !c.is_whitespace()).collect();
    let text = text.strip_suffix("(円)").unwrap_or(&text);
    text.chars().filter(|c| !matches!(c, '_' | '-' | '.' | '・' | ':')).collect()
}

fn quoted(headers: &[String]) -> String {
    headers.iter().map(|h| format!("“{}”", h.trim())).collect::<Vec<_>>().join(", ")
}

impl Mapping {
    /// Finds the columns of `kind` among a file's headers. `map` holds our name and the file's header.
    ///
    /// # Errors
    /// A sentence that names what is missing or doubtful, and the headers found.
    pub fn find(kind: Kind, headers: Vec<String>, map: &[(String, String)]) -> Result<Self, String> {
        let columns = kind.columns();
        let mut places: Vec<Option<usize>> = vec![None; columns.len()];
        for (name, header) in map {
            let Some(slot) = columns.iter().zip(&mut places).find_map(|(c, slot)| (c.name == name).then_some(slot))
            else {
                let names = columns.iter().map(|c| c.name).collect::<Vec<_>>().join(", ");
                return Err(format!("--map: {} have no column {name}; there are {names}", kind.word()));
            };
            let mut same = (0..).zip(&headers).filter(|(_, h)| plain(h) == plain(header)).map(|(i, _)| i);
            match (same.next(), same.next()) {
                (Some(place), None) => *slot = Some(place),
                (None, _) => {
                    return Err(format!("--map: the file has no header “{header}”; it has {}", quoted(&headers)));
                }
                (Some(_), Some(_)) => {
                    return Err(format!("--map: the file has more than one header “{header}”; rename one of them"));
                }
            }
        }
        let mut missing = Vec::new();
        for (i, column) in columns.iter().enumerate() {
            if places.get(i).copied().flatten().is_some() {
                continue;
            }
            let is_free = |place: usize| !places.contains(&Some(place));
            let named = |header: &str| {
                let header = plain(header);
                header == plain(column.name) || column.aliases.iter().any(|alias| header == plain(alias))
            };
            let found: Vec<usize> =
                headers.iter().enumerate().filter(|(place, h)| is_free(*place) && named(h)).map(|(p, _)| p).collect();
            match found.as_slice() {
                [] if column.required => missing.push(column.name),
                [] => {}
                [only] => {
                    if let Some(slot) = places.get_mut(i) {
                        *slot = Some(*only);
                    }
                }
                several => {
                    let names: Vec<String> = several.iter().filter_map(|p| headers.get(*p).cloned()).collect();
                    return Err(format!(
                        "more than one header could be {}: {}; say which with --map {}=HEADER",
                        column.name,
                        quoted(&names),
                        column.name
                    ));
                }
            }
        }
        if !missing.is_empty() {
            return Err(format!(
                "no column for {}; the first line of the file has {}. Say which is which with --map {}=HEADER",
                missing.join(", "),
                quoted(&headers),
                missing.join("=HEADER,")
            ));
        }
        let ignored = headers
            .iter()
            .enumerate()
            .filter(|(place, header)| !places.contains(&Some(*place)) && !header.trim().is_empty())
            .map(|(_, header)| header.trim().to_owned())
            .collect();
        Ok(Self { places, headers, ignored })
    }

    /// How many fields a line has.
    pub fn width(&self) -> usize {
        self.headers.len()
    }

    /// The place of a column of the kind, if the file has it.
    pub(super) fn place(&self, column: usize) -> Option<usize> {
        self.places.get(column).copied().flatten()
    }

    /// What the file calls a column, or our name where it has none.
    pub(super) fn header(&self, kind: Kind, column: usize) -> String {
        let own = kind.columns().get(column).map(|c| c.name).unwrap_or_default();
        self.place(column).and_then(|p| self.headers.get(p)).map_or_else(|| own.to_owned(), |h| h.trim().to_owned())
    }

    /// Headers that no column stands for.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Our name and the file's header, for the columns the file has.
    pub fn pairs(&self, kind: Kind) -> Vec<(&'static str, String)> {
        let columns = kind.columns().iter().enumerate();
        columns.filter(|(i, _)| self.place(*i).is_some()).map(|(i, c)| (c.name, self.header(kind, i))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(kind: Kind, headers: &[&str], map: &[(&str, &str)]) -> Result<Mapping, String> {
        let map: Vec<(String, String)> = map.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Mapping::find(kind, headers.iter().map(|h| (*h).to_owned()).collect(), &map)
    }

    #[test]
    fn usual_headers_are_recognised_in_any_width_and_case() {
        let sales =
            find(Kind::Sales, &["伝票番号", "得意先ｺｰﾄﾞ", "売上日", "品名", "金額（円）", "担当者", "備考"], &[])
                .unwrap();
        assert_eq!((0..6).map(|i| sales.place(i).unwrap()).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(sales.ignored(), ["備考"]);
        let own = find(Kind::Customers, &["department", "Phone", "code_customer", "NAME CUSTOMER"], &[]).unwrap();
        assert_eq!((0..5).map(|i| own.place(i)).collect::<Vec<_>>(), [Some(2), Some(3), None, Some(1), Some(0)]);
        assert!(find(Kind::Staff, &["Team ID", "User ID", "氏名", "権限", "部署"], &[]).is_ok());
    }

    #[test]
    fn every_alias_means_one_column_of_its_kind_only() {
        for kind in [Kind::Customers, Kind::Staff, Kind::Sales] {
            let mut seen = std::collections::BTreeMap::new();
            for column in kind.columns() {
                for alias in column.aliases.iter().chain([&column.name]) {
                    let before = seen.insert(plain(alias), column.name);
                    assert!(before.is_none_or(|b| b == column.name), "{alias}: {before:?} and {}", column.name);
                }
            }
        }
    }

    #[test]
    fn a_missing_column_is_an_error_that_names_the_headers_found() {
        let error = find(Kind::Customers, &["番号", "名", "部門"], &[]).unwrap_err();
        assert_eq!(
            error,
            "no column for code_customer, name_customer; the first line of the file has “番号”, “名”, “部門”. Say which is \
             which with --map code_customer=HEADER,name_customer"
                .to_owned()
                + "=HEADER"
        );
    }

    #[test]
    fn a_map_decides_and_its_faults_are_named() {
        let headers = &["番号", "得意先名", "部門", "金額(税込)"];
        let found = find(Kind::Customers, headers, &[("code_customer", "番号")]).unwrap();
        assert_eq!(found.place(0), Some(0));
        assert_eq!(found.header(Kind::Customers, 0), "番号");
        for (map, part) in [
            (("code_customer", "コード"), "no header “コード”; it has “番号”"),
            (("price", "金額(税込)"), "customers have no column price"),
        ] {
            assert!(find(Kind::Customers, headers, &[map]).unwrap_err().contains(part), "{map:?}");
        }
    }

    #[test]
    fn two_headers_for_one_column_are_asked_about() {
        let headers = &["得意先コード", "顧客コード", "得意先名", "部門"];
        let error = find(Kind::Customers, headers, &[]).unwrap_err();
        assert!(error.contains("“得意先コード”, “顧客コード”; say which with --map code_customer=HEADER"), "{error}");
        assert!(find(Kind::Customers, headers, &[("code_customer", "顧客コード")]).is_ok());
    }
}
