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

// tokens are the unread words of a line.
type tokens struct{ list []string }

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
func (w *tokens) name(description string) (string, error) {
	s, ok := w.next()
	if !ok || strings.ContainsAny(s, "=\"") {
		return "", fmt.Errorf("%s is missing", description)
	}
	return s, nil
}

// literal reads a given word.
func (w *tokens) literal(want string) error {
	if s, ok := w.next(); !ok || s != want {
		return fmt.Errorf("%q: must be %q", s, want)
	}
	return nil
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
func (w *tokens) duration(description string) (time.Duration, error) {
	s, ok := w.next()
	d, err := time.ParseDuration(s)
	if !ok || err != nil || d < 0 || d > 1000*time.Hour {
		return 0, fmt.Errorf("%s: %q: must be a duration such as 90s, 1m30s, up to 1000h", description, s)
	}
	return d, nil
}

// end returns an error if words remain.
func (w *tokens) end() error {
	if len(w.list) > 0 {
		return fmt.Errorf("unexpected words: %s", strings.Join(w.list, " "))
	}
	return nil
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
