package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/table"
)

// flagNameWidth is the maximum width of the column of flag names. The usage of a flag with a longer name starts on the
// next line.
const flagNameWidth = 32

// SetHelpWidth limits the flag usages in the help of cmd and its subcommands to [table.Width] columns. The usage of a
// command that only prints its help has no flags.
func SetHelpWidth(cmd *cobra.Command) {
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	t := cmd.UsageTemplate()
	for _, set := range []string{"LocalFlags", "InheritedFlags"} {
		t = strings.ReplaceAll(t, "{{."+set+".FlagUsages |", "{{flagUsages ."+set+" |")
	}
	t = strings.Replace(t, "{{if .Runnable}}", "{{if and .Runnable (not (index .Annotations \""+onlySubcommands+"\"))}}", 1)
	cmd.SetUsageTemplate(t)
}

// flagUsages returns the names and usages of the flags. [pflag.FlagSet.FlagUsagesWrapped]
// exceeds the given width if a flag has a long name.
func flagUsages(flags *pflag.FlagSet) string {
	var names, usages []string
	column := 0
	flags.VisitAll(func(f *pflag.Flag) {
		const indent = len("  -h, ")
		single := pflag.NewFlagSet("", pflag.ContinueOnError)
		single.AddFlag(f)
		text := single.FlagUsages()
		if text == "" { // the flag is hidden
			return
		}
		name, usage, _ := strings.Cut(text[indent:], "   ")
		name = text[:indent] + strings.TrimRight(name, "\n ")
		names, usages = append(names, name), append(usages, usage)
		if len(name) <= flagNameWidth {
			column = max(column, len(name))
		}
	})
	var b strings.Builder
	for i, name := range names {
		separator := strings.Repeat(" ", max(column-len(name), 0)+3)
		nextLine := "\n" + strings.Repeat(" ", column+3)
		if len(name) > column {
			separator = nextLine
		}
		usage := strings.ReplaceAll(table.Fill(usages[i], table.Width-column-3), "\n", nextLine)
		fmt.Fprintln(&b, name+separator+usage)
	}
	return b.String()
}
