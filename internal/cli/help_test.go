package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestFlagUsages(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Int("count", 3, "number of objects; "+strings.Repeat("many words ", 6)+"follow")
	flags.StringP("file", "f", "", "a `path`")
	flags.Duration("a-flag-with-a-name-as-long-as-this", 0, "time between runs")
	flags.String("secret", "", "not shown")
	if err := flags.MarkHidden("secret"); err != nil {
		t.Fatal(err)
	}
	const want = `      --a-flag-with-a-name-as-long-as-this duration
                    time between runs
      --count int   number of objects; many words many words many words many
                    words many words many words follow (default 3)
  -f, --file path   a path
`
	if got := flagUsages(flags); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
