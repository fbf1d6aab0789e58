package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/berthproject/berth/internal/archtest"
	"github.com/berthproject/berth/internal/table"
)

// TestHelp checks the help of each command: line length, banned words and examples. The help of
// `berth kubectl --help` is kubectl's own.
func TestHelp(t *testing.T) {
	t.Setenv("HOME", "/home/user")
	root := rootCommand()
	commands := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		checkHelp(t, cmd)
		commands++
		for _, c := range cmd.Commands() {
			check(c)
		}
	}
	check(root)
	if commands < 25 {
		t.Errorf("got %d commands, want at least 25", commands)
	}
}

func checkHelp(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	var b bytes.Buffer
	cmd.SetOut(&b)
	cmd.InitDefaultHelpFlag()
	if err := cmd.Help(); err != nil {
		t.Errorf("%s: %v", cmd.CommandPath(), err)
	}
	for line := range strings.Lines(b.String()) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "        ")
		if n := utf8.RuneCountInString(line); n > table.Width {
			t.Errorf("%s --help: got %d columns, want at most %d: %s", cmd.CommandPath(), n, table.Width, line)
		}
	}
	if word := archtest.BannedWords.FindString(strings.Join(strings.Fields(b.String()), " ")); word != "" {
		t.Errorf("%s --help: banned word %q: name the program or object", cmd.CommandPath(), word)
	}
	if cmd.Name() == "help" || cmd.Hidden {
		return
	}
	if cmd.Example == "" {
		t.Errorf("%s: got no example, want one", cmd.CommandPath())
	}
	for line := range strings.Lines(cmd.Example) {
		if !strings.HasPrefix(line, "  ") {
			t.Errorf("%s: example %q: must be indented by 2 spaces", cmd.CommandPath(), line)
		}
	}
}
