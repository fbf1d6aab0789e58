// CommandLine is a command: its fixed words, its arguments, and its options with their values. Arguments and values may be any text.
export interface CommandLine { words: string[]; operands?: string[]; options?: string[] }

// shellCommand returns the text of a command for a POSIX shell. An argument that begins with - could be taken for an option: arguments
// then come last, after --.
export function shellCommand({ words, operands = [], options = [] }: CommandLine): string {
  const list = operands.some((o) => o.startsWith("-")) ? [...words, ...options, "--", ...operands] : [...words, ...operands, ...options];
  return list.map(shellWord).join(" ");
}

const plain = /^[\w./:,@+-][\w./:=,@+-]*$/;
const invisible = /\p{C}|\p{Zl}|\p{Zp}/u; // control characters, which a terminal interprets when they are pasted, and invisible ones

// shellWord quotes a word. Words with invisible characters are written as $'…' with escapes. Its backslashes are octal, so that a
// shell without this form does not end the quotes early.
export function shellWord(text: string): string {
  if (plain.test(text)) return text;
  if (!invisible.test(text)) return "'" + text.replaceAll("'", "'\\''") + "'";
  return "$'" + [...text].map((c) => c === "'" || c === "\\" || invisible.test(c) ? escaped(c.codePointAt(0)!) : c).join("") + "'";
}

function escaped(code: number): string {
  if (code < 0x80) return "\\" + code.toString(8).padStart(3, "0");
  return code > 0xffff ? "\\U" + code.toString(16).padStart(8, "0") : "\\u" + code.toString(16).padStart(4, "0");
}
