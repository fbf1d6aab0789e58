package cli

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// allFormats lists every output format.
var allFormats = []string{OutputText, OutputWide, OutputName, OutputJSON, OutputYAML}

// outputCommand returns a command with the flag -o, and the value of the flag.
func outputCommand(formats ...string) (*cobra.Command, *Output) {
	o := &Output{}
	cmd := &cobra.Command{Use: "list", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
	cmd.SetFlagErrorFunc(FlagError)
	AddOutputFlag(cmd, cmd.Flags(), o, formats...)
	return cmd, o
}

func TestOutputPrint(t *testing.T) {
	object := struct {
		Pod    string   `json:"pod"`
		Memory int64    `json:"memory"`
		Nodes  []string `json:"nodes"`
		Node   string   `json:"node,omitempty"`
	}{Pod: "default/web-1", Memory: 1 << 40, Nodes: []string{"n1"}}
	text := func(w io.Writer, wide bool) error {
		_, err := io.WriteString(w, map[bool]string{false: "text\n", true: "more columns\n"}[wide])
		return err
	}
	for output, want := range map[string]string{
		OutputText: "text\n",
		OutputWide: "more columns\n",
		OutputName: "pod/web-1\npod/web-2\n",
		OutputJSON: "{\n    \"pod\": \"default/web-1\",\n    \"memory\": 1099511627776,\n    \"nodes\": [\n        \"n1\"\n    ]\n}\n",
		OutputYAML: "memory: 1099511627776\nnodes:\n- n1\npod: default/web-1\n",
	} {
		for _, value := range []any{object, JSONText(func() ([]byte, error) { return json.Marshal(object) })} {
			cmd, o := outputCommand(allFormats...)
			cmd.SetArgs([]string{"-o", output})
			if err := cmd.Execute(); err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := o.Print(&b, Printable{Text: text, Object: value, Kind: "Pod", Names: []string{"default/web-1", "web-2"}}); err != nil || b.String() != want {
				t.Errorf("-o %s of %T: got error %v, output\n%s\nwant\n%s", output, value, err, b.String(), want)
			}
		}
	}
}

// TestOutputSeparatesDocuments checks the output of a command that prints several objects.
func TestOutputSeparatesDocuments(t *testing.T) {
	_, o := outputCommand()
	if err := o.Set(OutputYAML); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range 2 {
		if err := o.Print(&b, Printable{Object: i}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "0\n---\n1\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

// TestOutputErrors checks that errors name the accepted values.
func TestOutputErrors(t *testing.T) {
	for want, formats := range map[string][]string{
		`--output "xml": must be text, json or yaml`:             nil,
		`--output "xml": must be yaml or json`:                   {OutputYAML, OutputJSON},
		`--output "xml": must be text, wide, name, json or yaml`: allFormats,
	} {
		cmd, _ := outputCommand(formats...)
		cmd.SetArgs([]string{"-o", "xml"})
		if err := cmd.Execute(); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
	_, o := outputCommand(allFormats...)
	if err := o.Only("--disk", OutputText, OutputJSON); err != nil {
		t.Error(err)
	}
	if err := o.Set(OutputWide); err != nil {
		t.Fatal(err)
	}
	if err := o.Only("--disk", OutputText, OutputJSON); err == nil || err.Error() != `--output "wide": must be text or json with --disk` {
		t.Errorf("got error %v, want one with the accepted formats", err)
	}
}

// TestPrintfKeepsLinesOfLogs checks that a status line that is not written to a terminal stays one line.
func TestPrintfKeepsLinesOfLogs(t *testing.T) {
	var b strings.Builder
	line := strings.Repeat("word ", 40) + "end\n"
	Printf(&b, "%s", line)
	if b.String() != line {
		t.Errorf("got %q, want %q", b.String(), line)
	}
}
