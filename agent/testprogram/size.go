package testprogram

import (
	"fmt"
	"strconv"
	"strings"
)

// size is a number of bytes in the format of Kubernetes quantities: 100Mi, 2G, 4096.
type size int64

// units are the accepted suffixes. Each text has the last one.
var units = []struct {
	suffix string
	bytes  int64
}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"", 1}}

// Set implements flag.Value.
func (s *size) Set(text string) error {
	for _, u := range units {
		digits, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			return fmt.Errorf("%q: must be a number of bytes, such as 4096, 100Mi or 2G", text)
		}
		*s = size(n * u.bytes)
		return nil
	}
	return nil
}

// String implements flag.Value.
func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }
