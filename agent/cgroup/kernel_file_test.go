package cgroup

import (
	"math"
	"testing"
)

func TestParseDigits(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "x": 0, "42\n": 42, "9223372036854771712": 9223372036854771712, "9223372036854775807": math.MaxInt64,
		"9223372036854775808": math.MaxInt64, "9223372036854775810": math.MaxInt64, "92233720368547758079999": math.MaxInt64,
	} {
		if got, _ := parseDigits([]byte(text)); got != want {
			t.Errorf("parseDigits(%q) = %d, want %d", text, got, want)
		}
	}
	if _, rest := parseDigits([]byte("92233720368547758079999 kB")); string(rest) != " kB" {
		t.Errorf("rest %q, want %q", rest, " kB")
	}
}
