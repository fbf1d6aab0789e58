package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPrintObject checks that JSON and YAML have the same fields.
func TestPrintObject(t *testing.T) {
	object := struct {
		Pod    string   `json:"pod"`
		Memory int64    `json:"memory"`
		Nodes  []string `json:"nodes"`
		Node   string   `json:"node,omitempty"`
	}{Pod: "default/web-1", Memory: 1 << 40, Nodes: []string{"n1"}}
	text := JSONText(func() ([]byte, error) { return json.MarshalIndent(object, "", "  ") })
	for output, want := range map[string]string{
		OutputJSON: "{\n  \"pod\": \"default/web-1\",\n  \"memory\": 1099511627776,\n  \"nodes\": [\n    \"n1\"\n  ]\n}\n",
		OutputYAML: "memory: 1099511627776\nnodes:\n- n1\npod: default/web-1\n",
	} {
		for _, of := range []any{object, text} {
			var b strings.Builder
			if err := PrintObject(&b, output, of); err != nil || b.String() != want {
				t.Errorf("-o %s of %T: %v\n%s\nwant\n%s", output, of, err, b.String(), want)
			}
		}
	}
}

// TestValidateOutput checks that the error names the accepted values.
func TestValidateOutput(t *testing.T) {
	for _, output := range []string{OutputText, OutputJSON, OutputYAML} {
		if err := ValidateOutput(output); err != nil {
			t.Error(err)
		}
	}
	if err := ValidateOutput("xml"); err == nil || err.Error() != `-o "xml": must be text, json or yaml` {
		t.Error(err)
	}
}
