// Names of reactions, as Slack has them, and what they look like. A name that is not here is shown as `:name:`.

const EMOJI = {
  "+1": "👍", "-1": "👎", thumbsup: "👍", thumbsdown: "👎", white_check_mark: "✅", eyes: "👀", pray: "🙏", bow: "🙇", tada: "🎉", clap: "👏",
  raised_hands: "🙌", ok_hand: "👌", muscle: "💪", smile: "😄", grinning: "😀", joy: "😂", sweat_smile: "😅", thinking_face: "🤔",
  sob: "😭", cry: "😢", rocket: "🚀", fire: "🔥", "100": "💯", star: "⭐", sparkles: "✨", bulb: "💡", memo: "📝", calendar: "📅",
  bar_chart: "📊", chart_with_upwards_trend: "📈", moneybag: "💰", yen: "💴", truck: "🚚", package: "📦", phone: "📱", email: "📧",
  wave: "👋", question: "❓", exclamation: "❗", x: "❌", o: "⭕", no_entry: "⛔", hourglass: "⌛", seedling: "🌱", tomato: "🍅",
  carrot: "🥕", eggplant: "🍆", corn: "🌽", potato: "🥔", strawberry: "🍓", apple: "🍎", ear_of_rice: "🌾", coffee: "☕", bell: "🔔",
  pushpin: "📌", lock: "🔒", key: "🔑", link: "🔗", speech_balloon: "💬", robot_face: "🤖", point_up: "☝", point_right: "👉", heart: "❤",
};

/** What the picker offers. */
export const OFFERED = [
  "+1", "white_check_mark", "eyes", "pray", "bow", "tada", "clap", "ok_hand", "smile", "joy", "thinking_face", "heart", "rocket", "fire",
  "100", "sparkles", "bulb", "memo", "question", "x", "seedling", "tomato", "carrot", "coffee",
];

const TONES = /::skin-tone-[2-6]$/;

export const emoji = (name) => {
  const bare = String(name).replace(TONES, "");
  return Object.hasOwn(EMOJI, bare) ? EMOJI[bare] : null;
};
