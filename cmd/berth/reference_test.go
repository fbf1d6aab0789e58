package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// home is the home directory while the reference is generated, which shows it as ~.
const home = "/home/you"

// TestCommandsReference checks that docs/reference/commands.md is current.
func TestCommandsReference(t *testing.T) {
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", "")
	for _, name := range []string{"XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	var index, sections strings.Builder
	describeCommands(rootCommand(), &index, &sections)
	reference.Check(t, "commands.md", `# Commands

This page lists all subcommands of berth with their flags. `+"`berth COMMAND --help`"+` prints the same text. Each command also
has the flag `+"`-h, --help`"+`. The [exit codes](exit-codes.md) and the [configuration](configuration.md) have their own pages.

`+reference.Table([]string{"command", "purpose"}, nil)+index.String()+sections.String())
}

// describeCommands writes a row and a section for each subcommand of cmd. The subcommands of
// `berth kubectl`, which are those of kubectl, are not listed.
func describeCommands(cmd *cobra.Command, index, sections *strings.Builder) {
	for _, c := range cmd.Commands() {
		if c.Hidden || c.Deprecated != "" || c.Name() == "help" {
			continue
		}
		path := c.CommandPath()
		fmt.Fprintf(index, "| [`%s`](#%s) | %s |\n", path, strings.ReplaceAll(path, " ", "-"), c.Short)
		describeCommand(c, sections)
		if c.Name() != "kubectl" {
			describeCommands(c, index, sections)
		}
	}
}

func describeCommand(c *cobra.Command, b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
	if c.Long != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Long))
	}
	fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.TrimSpace(c.UseLine()))
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "\nAliases: `%s`\n", strings.Join(c.Aliases, "`, `"))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```sh\n%s\n```\n", outdent(c.Example))
	}
	if rows := flagRows(c); len(rows) > 0 {
		b.WriteString("\n" + reference.Table([]string{"flag", "default", "meaning"}, rows))
	}
}

// outdent removes the indentation of the first line from all lines.
func outdent(text string) string {
	text = strings.Trim(text, "\n")
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	return strings.TrimSpace(strings.ReplaceAll("\n"+text, "\n"+indent, "\n"))
}

// defaultText matches the default in the text of a flag: "(default VALUE)", or "(default: DESCRIPTION)".
var defaultText = regexp.MustCompile(` \(default(?: ([^():]+)|:? ([^()]+))\)`)

// flagRows returns a row for each flag of the command, including those inherited. The column of the default has the
// value or, if a flag has none, the default in its text.
func flagRows(c *cobra.Command) [][]string {
	var rows [][]string
	add := func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" || f.Name == "help" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		value := strings.Replace(f.DefValue, home, "~", 1)
		switch {
		case value == "[]", value == "<nil>", value == "false", f.Name == "node-name": // the default of node-name is the host name
			value = ""
		case (value == "0" || value == "0s") && defaultText.MatchString(usage): // the text has the effective default
			value = ""
		}
		value = reference.Code(value)
		if match := defaultText.FindStringSubmatch(usage); match != nil && value == "" {
			value, usage = cmp.Or(reference.Code(match[1]), match[2]), strings.Replace(usage, match[0], "", 1)
		}
		rows = append(rows, []string{reference.Code(strings.TrimSpace(name + " " + kind)), value, usage})
	}
	c.NonInheritedFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	return rows
}
