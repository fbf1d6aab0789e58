package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// Values of --output.
const (
	OutputText = "text"
	OutputJSON = "json"
	OutputYAML = "yaml"
)

// AddOutputFlag adds -o, --output. The default is text.
func AddOutputFlag(flags *pflag.FlagSet, output *string) {
	flags.StringVarP(output, "output", "o", OutputText, "text, json or yaml")
}

// ValidateOutput refuses an unknown value of --output.
func ValidateOutput(output string) error {
	switch output {
	case OutputText, OutputJSON, OutputYAML:
		return nil
	}
	return fmt.Errorf("-o %q: must be text, json or yaml", output)
}

// PrintObject prints object as JSON, or as YAML if output is [OutputYAML]. Both have the
// field names of the object's JSON.
func PrintObject(w io.Writer, output string, object any) error {
	data, err := marshal(object)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if output == OutputYAML {
		if data, err = yaml.JSONToYAML(data); err != nil {
			return err
		}
	}
	_, err = w.Write(data)
	return err
}

// JSONText is a function that returns an object as JSON, for [PrintObject].
type JSONText func() ([]byte, error)

func marshal(object any) ([]byte, error) {
	if text, ok := object.(JSONText); ok {
		return text() // its layout is kept
	}
	return json.MarshalIndent(object, "", "  ")
}
