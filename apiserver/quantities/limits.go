package quantities

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Limits of a quantity. Kubernetes uses at most 19 digits and the exponents -9 to 18.
const (
	maxLength   = 64
	maxExponent = 64
)

// CheckText returns an error if text is too long for a quantity or has too large an exponent. It does not check
// whether text is a quantity.
func CheckText(text string) error {
	text = strings.TrimSpace(text)
	if len(text) > maxLength {
		return fmt.Errorf("a quantity of %d characters: must have at most %d", len(text), maxLength)
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return nil
	}
	exponent, err := strconv.Atoi(text[i+1:])
	if err != nil && !errors.Is(err, strconv.ErrRange) || -maxExponent <= exponent && exponent <= maxExponent {
		return nil
	}
	return fmt.Errorf("quantity %q: the exponent must be from %d to %d", text, -maxExponent, maxExponent)
}

// suspicious reports whether JSON may contain a quantity that exceeds the limits. It checks each maximal sequence of
// isWord characters. It also returns true for a Unicode escape, which may hide digits.
func suspicious(data []byte) bool {
	for i := 0; i < len(data); {
		if !isWord[data[i]] {
			if data[i] == '\\' && i+1 < len(data) {
				if data[i+1] == 'u' {
					return true
				}
				i++
			}
			i++
			continue
		}
		start := i
		for i < len(data) && isWord[data[i]] {
			i++
		}
		if c := data[start]; i-start > 3 && (c <= '9' || c == 'e' || c == 'E') && CheckText(string(data[start:i])) != nil {
			return true
		}
	}
	return false
}

// isWord reports, by character, whether a quantity or a word may contain it.
var isWord = func() (out [256]bool) {
	for c := range len(out) {
		out[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '.' || c == '+' || c == '-'
	}
	return out
}()
