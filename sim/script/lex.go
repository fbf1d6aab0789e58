package script

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Error is an error in a scenario.
type Error struct {
	File   string
	Line   int // from 1
	Reason string
}

// Error returns "file:line: reason".
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// splitWords splits a line into words. Quoted text is one word; # at the start of a word
// begins a comment.
func splitWords(line string) ([]string, error) {
	var out []string
	for {
		line = strings.TrimLeft(line, " \t\r")
		switch {
		case line == "" || line[0] == '#':
			return out, nil
		case line[0] == '"':
			end := strings.IndexByte(line[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("%s: the quotation is not terminated", line)
			}
			out = append(out, line[:end+2])
			line = line[end+2:]
		default:
			end := strings.IndexAny(line, " \t\r")
			if end < 0 {
				end = len(line)
			}
			out = append(out, line[:end])
			line = line[end:]
		}
	}
}

// tokens are the unread words of a line. After an error, methods return zero values, and err is the first error.
type tokens struct {
	list []string
	err  error
}

// fail records an error.
func (w *tokens) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *tokens) failf(format string, args ...any) { w.fail(fmt.Errorf(format, args...)) }

// next reads the next word.
func (w *tokens) next() (string, bool) {
	if len(w.list) == 0 {
		return "", false
	}
	first := w.list[0]
	w.list = w.list[1:]
	return first, true
}

// name reads a word that is neither quoted nor key=value. Errors contain the description.
func (w *tokens) name(description string) string {
	s, ok := w.next()
	if !ok || strings.ContainsAny(s, "=\"") {
		w.failf("%s is missing", description)
		return ""
	}
	return s
}

// literal reads a given word.
func (w *tokens) literal(want string) {
	if s, ok := w.next(); !ok || s != want {
		w.failf("%q: must be %q", s, want)
	}
}

// accept reads the next word if it is the given one.
func (w *tokens) accept(word string) bool {
	if len(w.list) > 0 && w.list[0] == word {
		w.list = w.list[1:]
		return true
	}
	return false
}

// quoted reads a quoted word if there is one.
func (w *tokens) quoted() (string, bool) {
	if len(w.list) == 0 || w.list[0][0] != '"' {
		return "", false
	}
	s, _ := w.next()
	return strings.Trim(s, `"`), true
}

// duration reads a duration.
func (w *tokens) duration(description string) time.Duration {
	s, ok := w.next()
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 || d > 1000*time.Hour {
		w.failf("%s: %q: must be a duration such as 90s, 1m30s, up to 1000h", description, s)
		return 0
	}
	return d
}

// count reads a number of things that are in a state.
func (w *tokens) count(state string) int {
	word, _ := w.next()
	return int(value{w, state, word}.number(0, 1<<31-1))
}

// end fails if words remain.
func (w *tokens) end() {
	if len(w.list) > 0 {
		w.failf("unexpected words: %s", strings.Join(w.list, " "))
	}
}

// maxRange is the maximum size of a name range.
const maxRange = 10000

// expand expands n1..n3 to n1, n2, n3; any other name to itself.
func expand(name string) ([]string, error) {
	first, last, ranged := strings.Cut(name, "..")
	if !ranged {
		return []string{name}, nil
	}
	prefix := strings.TrimRight(first, "0123456789")
	low, err := strconv.Atoi(first[len(prefix):])
	high, err2 := strconv.Atoi(strings.TrimPrefix(last, prefix))
	if err != nil || err2 != nil || high < low || high-low >= maxRange {
		return nil, fmt.Errorf("%s: must be a range such as n1..n3, of at most %d", name, maxRange)
	}
	var out []string
	for i := low; i <= high; i++ {
		out = append(out, prefix+strconv.Itoa(i))
	}
	return out, nil
}
