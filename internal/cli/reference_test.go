package cli

import (
	"strconv"
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestExitCodesReference checks docs/reference/exit-codes.md.
func TestExitCodesReference(t *testing.T) {
	var rows [][]string
	for _, c := range ExitCodes {
		rows = append(rows, []string{strconv.Itoa(c.Code), c.Commands, c.Meaning})
	}
	reference.Check(t, "exit-codes.md", "# Exit codes\n\n`berth kubectl` has the exit codes of kubectl.\n\n"+
		reference.Table([]string{"code", "commands", "meaning"}, rows))
}
