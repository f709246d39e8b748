/** @file `--help`: the flags of a program, in absl's layout. */
import type { Flag } from './flagRegistry.ts';

const width = 80;

/** Text in lines of at most 80 letters; the first line may begin further left than the others. */
function wrapped(text: string, indent: string, firstIndent = indent): string {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = lines.length === 0 ? firstIndent : indent;
    let isEmpty = true;
    for (const word of paragraph.trim().split(/\s+/)) {
      if (!isEmpty && line.length + 1 + word.length > width) {
        lines.push(line);
        line = indent;
        isEmpty = true;
      }
      line += isEmpty ? word : ` ${word}`;
      isEmpty = false;
    }
    lines.push(line);
  }
  return lines.join('\n');
}

function flagHelp(flag: Flag): string {
  const { name, shortName, help, type, defaultValue } = flag;
  const title = `${shortName ? `-${shortName},` : ''}--${type.isBoolean ? '[no]' : ''}${name}:`;
  const lines = [wrapped(`${title} ${help}`, '    ', '  ')];
  const hasDefault = defaultValue !== null && !(Array.isArray(defaultValue) && defaultValue.length === 0);
  if (hasDefault) lines.push(wrapped(`(default: '${type.show(defaultValue)}')`, '    '));
  if (type.syntax !== '') lines.push(wrapped(`(${type.syntax})`, '    '));
  return lines.join('\n');
}

/** The flags by the file that defines them. */
export function helpText(flags: readonly Flag[]): string {
  const byFile = new Map<string, Flag[]>();
  for (const flag of flags) byFile.set(flag.file, [...(byFile.get(flag.file) ?? []), flag]);
  const parts = [...byFile].map(([file, own]) => `${file}:\n${own.map(flagHelp).join('\n')}`);
  return parts.join('\n\n');
}
