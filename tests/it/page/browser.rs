//! A real browser, and what a person sees and does in it.

use std::process::Stdio;
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::error::CmdError;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use sales_concierge::playground::workspace::{Workspace, World};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::bot::listener;

/// How long something may take; a machine that runs all tests at once may need most of it.
const SOON: Duration = Duration::from_secs(60);

/// So many browsers run at a time: more of them on two cores only wait for each other.
static BROWSERS: Semaphore = Semaphore::const_new(2);

/// Keys, as WebDriver names them.
pub const ENTER: &str = "\u{E007}";
pub const TAB: &str = "\u{E004}";
pub const ESCAPE: &str = "\u{E00C}";
pub const DOWN: &str = "\u{E015}";
pub const UP: &str = "\u{E013}";
pub const RIGHT: &str = "\u{E014}";
pub const DELETE: &str = "\u{E017}";
pub const END: &str = "\u{E010}";
const CTRL: &str = "\u{E009}";
/// Lets go of what is held down.
const RELEASE: &str = "\u{E000}";

/// The width of the phone, in CSS pixels.
pub const PHONE: u32 = 375;

pub struct Browser {
    pub client: Client,
    base: String,
    _driver: Driver,
    _turn: SemaphorePermit<'static>,
}

/// The driver and its browser, which end with the test, also with one that fails.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        // A driver that is killed leaves its browser behind, so its children go first.
        if let Some(driver) = self.0.id() {
            let _ = std::process::Command::new("pkill").args(["-KILL", "-P", &driver.to_string()]).status();
        }
    }
}

impl Browser {
    pub async fn start(workspace: &Workspace, phone: bool) -> Self {
        Self::at(&workspace.page_url(), phone).await
    }

    /// A fresh browser for the page at `url`.
    pub async fn at(url: &str, phone: bool) -> Self {
        let turn = BROWSERS.acquire().await.unwrap();
        let base = url.to_owned();
        let port = listener().await.local_addr().unwrap().port();
        let driver = Command::new("chromedriver")
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("chromedriver is installed (scripts/test does it)");
        let driver = Driver(driver);
        let mut options = json!({"args": ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--window-size=1280,800"]});
        if phone {
            options["mobileEmulation"] = json!({
                "deviceMetrics": {"width": PHONE, "height": 700, "pixelRatio": 2.0, "mobile": true, "touch": true},
            });
        }
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities([("goog:chromeOptions".to_owned(), options)].into_iter().collect());
        let url = format!("http://127.0.0.1:{port}");
        let connected = async {
            loop {
                match builder.connect(&url).await {
                    Ok(client) => return client,
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        let client = tokio::time::timeout(SOON * 2, connected).await.expect("a browser starts");
        Self { client, base, _driver: driver, _turn: turn }
    }

    pub async fn open(&self, hash: &str) {
        self.client.goto(&format!("{}#{hash}", self.base)).await.unwrap();
        self.shows("return document.getElementById('where').textContent !== ''").await;
    }

    pub async fn close(self) {
        self.client.close().await.unwrap();
    }

    /// Waits until a script returns true.
    pub async fn shows(&self, script: &str) {
        let seen = async {
            while self.client.execute(script, vec![]).await.unwrap() != json!(true) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(SOON, seen).await.is_err() {
            let text = self.client.execute("return document.body.innerText", vec![]).await.unwrap();
            panic!("never true: {script}\nthe page says: {text}");
        }
    }

    /// Waits until an element's text contains something.
    pub async fn says(&self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.shows(&format!(
            "return [...document.querySelectorAll({selector})].some(e => e.innerText.includes({text}))"
        ))
        .await;
    }

    /// Waits until an element is there, and clicks it wherever it is.
    pub async fn click_anywhere(&self, selector: &str) {
        let selector = json!(selector);
        self.shows(&format!("const e = document.querySelector({selector}); e?.click(); return Boolean(e)")).await;
    }

    /// Waits until nothing matches.
    pub async fn lacks(&self, selector: &str) {
        self.shows(&format!("return !document.querySelector({})", json!(selector))).await;
    }

    pub async fn click(&self, selector: &str) {
        self.with(selector, async |element| element.click().await).await;
    }

    pub async fn write(&self, selector: &str, text: &str) {
        self.with(selector, async |element| element.send_keys(text).await).await;
    }

    /// Uses an element as soon as it is there and can be used.
    async fn with(&self, selector: &str, act: impl AsyncFn(Element) -> Result<(), CmdError>) {
        let used = async {
            loop {
                let element = self.client.wait().at_most(SOON).for_element(Locator::Css(selector)).await.unwrap();
                match act(element).await {
                    Ok(()) => return,
                    Err(error) if can_come(&error) => tokio::time::sleep(Duration::from_millis(30)).await,
                    Err(error) => panic!("{selector}: {error}"),
                }
            }
        };
        tokio::time::timeout(SOON, used).await.unwrap_or_else(|_| panic!("{selector} cannot be used"));
    }

    /// Types into whatever has the focus.
    pub async fn keys(&self, keys: &str) {
        self.client.active_element().await.unwrap().send_keys(keys).await.unwrap();
    }

    /// Ctrl and another key.
    pub async fn press_with_ctrl(&self, key: &str) {
        self.keys(&format!("{CTRL}{key}{RELEASE}")).await;
    }

    pub async fn press_shift_tab(&self) {
        self.keys(&format!("\u{E008}{TAB}{RELEASE}")).await;
    }

    pub async fn run(&self, script: &str) -> Value {
        self.client.execute(script, vec![]).await.unwrap()
    }

    /// Pictures are made only on demand: `SCREENSHOTS=dir cargo test --test it page`.
    #[expect(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
    pub async fn picture(&self, name: &str) {
        if let Ok(dir) = std::env::var("SCREENSHOTS") {
            let png = self.client.screenshot().await.expect("a picture");
            std::fs::write(std::path::Path::new(&dir).join(format!("{name}.png")), png).expect("written");
        }
    }
}

/// Whether an element that cannot be used now may be usable in a moment: it is being drawn, or something lies over it.
fn can_come(error: &CmdError) -> bool {
    let CmdError::Standard(error) = error else { return false };
    ["element not interactable", "element click intercepted", "stale element reference"]
        .contains(&error.error().as_str())
}

/// Waits until a workspace is in a state: what the page shows may come before what the workspace holds.
pub async fn holds(workspace: &Workspace, what: &str, look: impl Fn(&World) -> bool) {
    let found = workspace.wait_for(|w| look(w).then_some(()), SOON).await;
    assert!(found.is_some(), "never so: {what}");
}
