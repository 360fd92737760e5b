//! The words of the playground beyond what the page itself says.

words! {
    /// Who answers, above the messages.
    demo_banner() {
        ja: "お試し用の「デモモデル」が応答しています（AIではありません）。決まった言い回しだけを理解します。",
        en: "The built-in demo model answers here. It is not an AI and understands a fixed range of requests.",
    }
}
