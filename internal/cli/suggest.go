package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// DidYouMean returns a suggestion to append to an error about an unknown name, or "" if no
// candidate is similar.
func DidYouMean(name string, candidates []string) string {
	return suggestion(similar(name, candidates))
}

func suggestion(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(names, " or ") + "?"
}

// maxSuggestions is the maximum number of suggested names with a common prefix.
const maxSuggestions = 3

// similar returns the shortest candidates that start with name. If there is none, it returns those with the fewest
// typing errors: at most one, or two if name has more than three letters.
func similar(name string, candidates []string) []string {
	if name == "" {
		return nil
	}
	var names []string
	for _, c := range candidates {
		if strings.HasPrefix(c, name) {
			names = append(names, c)
		}
	}
	if len(names) > 0 {
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
		return names[:min(len(names), maxSuggestions)]
	}
	limit := 1
	if len(name) > 3 {
		limit = 2
	}
	for _, c := range candidates {
		switch d := distance(name, c); {
		case d < limit:
			limit, names = d, []string{c}
		case d == limit:
			names = append(names, c)
		}
	}
	return names
}

// distance returns how many letters must be inserted, deleted, replaced or swapped with
// their neighbor to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// RejectUnknownSubcommands makes cmd and each command below that has subcommands fail with a suggestion if its argument
// is none of them. Without arguments, such a command prints its help.
func RejectUnknownSubcommands(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	cmd.Args = rejectUnknownSubcommand
	if !cmd.Runnable() {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Annotations = map[string]string{onlySubcommands: "true"}
	}
	for _, c := range cmd.Commands() {
		RejectUnknownSubcommands(c)
	}
}

// onlySubcommands is the annotation of commands that only print their help.
const onlySubcommands = "berth.dev/only-subcommands"

// kubectlCommands are commands of kubectl that its users may expect.
var kubectlCommands = []string{"annotate", "api-resources", "apply", "attach", "cordon", "cp", "create", "debug", "delete", "describe",
	"edit", "events", "exec", "expose", "get", "label", "logs", "patch", "port-forward", "replace", "rollout", "run", "scale", "taint",
	"top", "uncordon", "wait"}

func rejectUnknownSubcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" { // cobra does not count its help command
			names = append(names, c.Name())
		}
	}
	suggestion := DidYouMean(args[0], names)
	if !cmd.HasParent() && slices.Contains(kubectlCommands, args[0]) {
		suggestion = fmt.Sprintf(": did you mean `%s kubectl %s`?", cmd.DisplayName(), args[0])
	}
	if kind, name, found := strings.Cut(args[0], "/"); found {
		if c, _, err := cmd.Find([]string{kind}); err == nil && c != cmd { // TYPE/NAME, as kubectl accepts it
			suggestion = fmt.Sprintf(": did you mean `%s %s`?", c.CommandPath(), name)
		}
	}
	return fmt.Errorf("unknown command %q for %q%s (see `%s --help`)", args[0], cmd.CommandPath(), suggestion, cmd.CommandPath())
}
