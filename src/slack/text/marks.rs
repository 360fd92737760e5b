//! Marks of emphasis, read before CommonMark reads the rest.
//!
//! CommonMark decides by what stands around a mark whether it is one, and wants a space or a sign where Japanese has
//! none. Here a mark opens before and closes after anything but a space, whatever stands beyond it. What it promises
//! besides: a star between figures (`10*3`, `100円*1`) and a single tilde (`9~17時`) are no marks, since a mark that is
//! read disappears, and the figures beside it would run together.

/// Stand for marks between the two readers. Noncharacters: [`super::visible()`] has removed any that the input held.
const STRONG: char = '\u{fdd0}';
const EMPHASIS: char = '\u{fdd1}';
const STRIKE: char = '\u{fdd2}';
/// Stand for characters that CommonMark must not read as marks.
const STAR: char = '\u{fdd3}';
const TILDE: char = '\u{fdd4}';

/// A mark, which begins what it stands for or ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Strong,
    Emphasis,
    Strike,
}

impl Mark {
    /// Whether a character stands for one.
    pub fn is(c: char) -> bool {
        matches!(c, STRONG | EMPHASIS | STRIKE)
    }

    /// The words before a mark, and the mark, if the text ends with one.
    pub fn split(text: &str) -> (&str, Option<Self>) {
        let mark = match text.chars().next_back() {
            Some(STRONG) => Self::Strong,
            Some(EMPHASIS) => Self::Emphasis,
            Some(STRIKE) => Self::Strike,
            _ => return (text, None),
        };
        (text.trim_end_matches(Self::is), Some(mark))
    }
}

/// What was written, for where no mark is read.
pub(super) fn unmark(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            STRONG => out.push_str("**"),
            STRIKE => out.push_str("~~"),
            EMPHASIS | STAR => out.push('*'),
            TILDE => out.push('~'),
            _ => out.push(c),
        }
    }
    out
}

/// Replaces the marks of each line that have their partner in it. Code is left alone.
pub(super) fn mark(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut fence: Option<(char, usize)> = None;
    for line in markdown.split_inclusive('\n') {
        let bare = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace()).trim_end();
        let tick = bare.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = tick.map_or(0, |tick| bare.chars().take_while(|c| *c == tick).count());
        match (fence, tick) {
            (None, Some(tick)) if run >= 3 => fence = Some((tick, run)),
            (Some((open, len)), Some(tick)) if tick == open && run >= len && bare.chars().count() == run => {
                fence = None
            }
            (None, _) => {
                mark_line(line, &mut out);
                continue;
            }
            _ => {}
        }
        out.push_str(line);
    }
    out
}

/// The marks by what they are written as; three stars are two of them at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Star,
    Stars,
    ThreeStars,
    Tildes,
}

impl Kind {
    fn of(c: char, run: usize) -> Option<Self> {
        match (c, run) {
            ('*', 1) => Some(Self::Star),
            ('*', 2) => Some(Self::Stars),
            ('*', 3) => Some(Self::ThreeStars),
            ('~', 2) => Some(Self::Tildes),
            _ => None,
        }
    }

    fn opening(self) -> &'static [char] {
        match self {
            Self::Star => &[EMPHASIS],
            Self::Stars => &[STRONG],
            Self::ThreeStars => &[STRONG, EMPHASIS],
            Self::Tildes => &[STRIKE],
        }
    }

    /// The figures beside a mark that is taken away would run together, or lose what they are multiplied by.
    fn is_sign(self, before: Option<char>, after: Option<char>) -> bool {
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        match self {
            Self::Star => digit(before) || digit(after),
            Self::Stars | Self::ThreeStars => digit(before) && digit(after),
            Self::Tildes => false,
        }
    }
}

fn mark_line(line: &str, out: &mut String) {
    let chars: Vec<char> = line.chars().collect();
    let at = |i: usize| chars.get(i).copied();
    let run = |from: usize, c: char| chars.iter().skip(from).take_while(|x| **x == c).count();
    // What stands in place of the characters from an index on, and how many of them.
    let mut replaced: Vec<(usize, usize, &[char])> = Vec::new();
    let mut open: Vec<(Kind, usize, usize)> = Vec::new();
    let mut i = 0;
    while let Some(c) = at(i) {
        let len = if matches!(c, '`' | '*' | '~') { run(i, c) } else { 1 };
        match c {
            '\\' => i += 2,
            '`' => {
                let close = (i + len..chars.len())
                    .find(|j| at(*j) == Some('`') && at(j.saturating_sub(1)) != Some('`') && run(*j, '`') == len);
                i = close.unwrap_or(i) + len;
            }
            '~' if len == 1 => {
                replaced.push((i, 1, &[TILDE]));
                i += 1;
            }
            '*' | '~' => {
                let (before, after) = (i.checked_sub(1).and_then(at), at(i + len));
                let solid = |c: Option<char>| c.is_some_and(|c| !c.is_whitespace());
                match Kind::of(c, len) {
                    Some(kind) if kind.is_sign(before, after) => {
                        let stars: &[char] = &[STAR; 3];
                        replaced.push((i, len, stars.get(..len).unwrap_or(stars)));
                    }
                    Some(kind) => {
                        let partner = open.iter().rposition(|(other, ..)| *other == kind);
                        if let Some(at) = partner.filter(|_| solid(before)) {
                            let (_, start, len) = open.swap_remove(at);
                            replaced.push((start, len, kind.opening()));
                            replaced.push((i, len, kind.opening()));
                        } else if solid(after) {
                            open.retain(|(other, ..)| *other != kind);
                            open.push((kind, i, len));
                        }
                    }
                    None => {}
                }
                i += len;
            }
            _ => i += 1,
        }
    }
    replaced.sort_unstable_by_key(|(from, ..)| *from);
    let mut replaced = replaced.into_iter().peekable();
    let mut skip = 0;
    for (i, c) in chars.iter().enumerate() {
        if let Some((_, len, by)) = replaced.next_if(|(from, ..)| *from == i) {
            out.extend(by);
            skip = len;
        }
        if skip > 0 {
            skip -= 1;
        } else {
            out.push(*c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_needs_a_partner_in_its_line_and_no_space_inside() {
        let shown = |text: &str| {
            mark(text).replace(STRONG, "B").replace(EMPHASIS, "I").replace(STRIKE, "S").replace([STAR, TILDE], ".")
        };
        for (text, marked) in [
            ("これは**重要**です", "これはB重要Bです"),
            ("**「ビット」**で", "B「ビット」Bで"),
            ("*「斜体」*は", "I「斜体」Iは"),
            ("***「両方」***は", "BI「両方」BIは"),
            ("~~「取消」~~は", "S「取消」Sは"),
            ("**太い*斜め*字**", "B太いI斜めI字B"),
            ("* 項目 **一**", "* 項目 B一B"),
            ("** 空白 **", "** 空白 **"),
            ("**ひとつだけ", "**ひとつだけ"),
            ("10*3と4*5", "10.3と4.5"),
            ("100円*1 200円*2", "100円.1 200円.2"),
            ("2**3と4**5", "2..3と4..5"),
            ("9~17時、10~20日", "9.17時、10.20日"),
            ("`**x**` **y**", "`**x**` ByB"),
            ("\\*a* *b*", "\\*a* IbI"),
            ("```\n**x**\n```\n**y**", "```\n**x**\n```\nByB"),
            ("***", "***"),
        ] {
            assert_eq!(shown(text), marked, "{text}");
            assert_eq!(unmark(&mark(text)), text);
        }
    }
}
