package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/berthproject/berth/internal/table"
)

// Printf writes a status line. If w is a terminal, [table.Wrap] breaks the line; in a log it stays whole.
func Printf(w io.Writer, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		text = table.Wrap(text)
	}
	fmt.Fprint(w, text)
}

// Values of --output.
const (
	OutputText = "text"
	OutputWide = "wide" // text with more columns
	OutputName = "name" // KIND/NAME of each object
	OutputJSON = "json"
	OutputYAML = "yaml"
)

// Output is the value of -o, --output. The zero value is text.
type Output struct {
	format  string
	formats []string // accepted
	printer printers.ResourcePrinter
}

// AddOutputFlag adds -o, --output to flags of cmd. It accepts the formats, the first of which
// is the default. Without formats it accepts text, json and yaml.
func AddOutputFlag(cmd *cobra.Command, flags *pflag.FlagSet, o *Output, formats ...string) {
	if len(formats) == 0 {
		formats = []string{OutputText, OutputJSON, OutputYAML}
	}
	o.format, o.formats = formats[0], formats
	flags.VarP(o, "output", "o", alternatives(formats))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)) // fails only for unknown flags
}

// alternatives returns "a, b or c".
func alternatives(list []string) string {
	last := len(list) - 1
	if last <= 0 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// String implements pflag.Value.
func (o *Output) String() string { return o.format }

// Type implements pflag.Value.
func (o *Output) Type() string { return "format" }

// Set implements pflag.Value. It returns an error if the command does not accept the format.
func (o *Output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return fmt.Errorf("must be %s", alternatives(o.formats))
	}
	o.format = format
	return nil
}

// Only returns an error unless the format is one of those that the command accepts together with flag.
func (o *Output) Only(flag string, formats ...string) error {
	if slices.Contains(formats, o.format) {
		return nil
	}
	return fmt.Errorf("--output %q: must be %s with %s", o.format, alternatives(formats), flag)
}

// IsText reports whether the output is text.
func (o *Output) IsText() bool {
	return o.format == "" || o.format == OutputText || o.format == OutputWide
}

// Printable is what a command prints. It needs the fields of the formats that the command
// accepts.
type Printable struct {
	Text   func(w io.Writer, wide bool) error
	Object any      // for the formats json and yaml
	Kind   string   // kind of the named objects, for the format name
	Names  []string // NAME or NAMESPACE/NAME, for the format name
}

// Print writes p in the requested format. It separates the YAML documents of several calls.
func (o *Output) Print(w io.Writer, p Printable) (err error) {
	if o.IsText() {
		return o.printText(w, p)
	}
	if o.printer == nil {
		if o.printer, err = newPrinter(o.format); err != nil {
			return err
		}
	}
	if o.format == OutputName {
		return o.printNames(w, p)
	}
	data, err := marshal(p.Object)
	if err != nil {
		return err
	}
	return o.printer.PrintObj(&runtime.Unknown{Raw: data}, w)
}

// printText writes text, in lines that fit a terminal unless the output is wide.
func (o *Output) printText(w io.Writer, p Printable) error {
	if o.format == OutputWide {
		return p.Text(w, true)
	}
	var b strings.Builder
	if err := p.Text(&b, false); err != nil {
		return err
	}
	_, err := io.WriteString(w, table.Wrap(b.String()))
	return err
}

// newPrinter returns kubectl's printer of a format.
func newPrinter(format string) (printers.ResourcePrinter, error) {
	if format == OutputName {
		return genericclioptions.NewNamePrintFlags("").ToPrinter(format)
	}
	return genericclioptions.NewJSONYamlPrintFlags().ToPrinter(format)
}

func (o *Output) printNames(w io.Writer, p Printable) error {
	for _, name := range p.Names {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name[strings.LastIndex(name, "/")+1:]}}
		object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: p.Kind})
		if err := o.printer.PrintObj(object, w); err != nil {
			return err
		}
	}
	return nil
}

// JSONText is a function that returns an object as JSON. It can be the Object of a [Printable].
type JSONText func() ([]byte, error)

func marshal(object any) ([]byte, error) {
	if text, ok := object.(JSONText); ok {
		return text()
	}
	return json.Marshal(object)
}
