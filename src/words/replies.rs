//! The words the engine says by itself: limits, refusals, failures.

words! {
    /// A message with nothing in it but the mention.
    what_do_you_need() { ja: "ご用件をお書きください。", en: "What can I do for you?" }
}
