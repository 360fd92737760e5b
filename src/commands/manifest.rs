//! `manifest`: prints the Slack app manifest.

use crate::commands::Failure;

/// The file in the repository; a test checks it against what the code calls and listens to.
pub const MANIFEST: &str = include_str!("../../manifest.yaml");

/// What stands in the file where the public address belongs.
pub const PLACEHOLDER: &str = "https://YOUR-HOST";

/// Prints it, with the placeholder replaced when an address is given.
///
/// # Errors
/// When the address is not one that Slack accepts.
pub fn run(url: Option<&str>) -> Result<(), Failure> {
    let Some(url) = url else {
        print!("{MANIFEST}");
        return Ok(());
    };
    let parsed = url::Url::parse(url).ok().filter(|u| u.scheme() == "https" && u.has_host());
    if parsed.is_none() {
        return Err(Failure::Usage(anyhow::anyhow!(
            "--url has to be an address such as https://concierge.example.com; Slack takes https only"
        )));
    }
    print!("{}", MANIFEST.replace(PLACEHOLDER, url.trim_end_matches('/')));
    Ok(())
}
