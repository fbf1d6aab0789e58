package informers

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/berthproject/berth/internal/config"
)

// maxValues is the maximum number of values in an untrusted dump. An empty object of three bytes can need a kilobyte.
const maxValues = 300_000

// largeExponent matches quantities whose decoding can take hours, but not UIDs such as 1e128003-95c1-….
var largeExponent = regexp.MustCompile(`[":,\[]\s*([+-]?[0-9.]+[eE][+-]?[0-9]{3,})(?:[^-+.0-9A-Za-z]|$)`)

// DecodeUntrustedDump decodes the content of a file as ReadDump does. It returns an error for content that needs much more
// memory or time than its size, and that kubectl does not write: YAML aliases, large exponents and too many values.
// Errors name the file.
func DecodeUntrustedDump(file string, data []byte) ([]runtime.Object, error) {
	var out []runtime.Object
	values := 0
	err := config.SplitDocuments(file, data, func(doc []byte) error {
		if err := checkAliases(doc); err != nil {
			return err
		}
		js, err := utilyaml.ToJSON(doc)
		if err != nil {
			return err
		}
		if values += bytes.Count(js, []byte(",")); values > maxValues {
			return fmt.Errorf("more than %d values: must have fewer objects", maxValues)
		}
		if m := largeExponent.FindSubmatch(js); m != nil {
			return fmt.Errorf("quantity %.40s: exponents must have at most two digits", m[1])
		}
		out, err = decode(out, js, false)
		return err
	})
	return out, err
}

// checkAliases returns an error if a document has a YAML alias. Aliases of long text expand to a multiple of the document.
func checkAliases(doc []byte) error {
	if !bytes.Contains(doc, []byte("&")) || !bytes.Contains(doc, []byte("*")) {
		return nil
	}
	var root yaml.Node
	if err := yaml.Unmarshal(doc, &root); err != nil {
		return err
	}
	for nodes := []*yaml.Node{&root}; len(nodes) > 0; {
		n := nodes[len(nodes)-1]
		if nodes = append(nodes[:len(nodes)-1], n.Content...); n.Kind == yaml.AliasNode {
			return errors.New("YAML aliases are not supported: must be the output of kubectl get -o yaml or -o json")
		}
	}
	return nil
}
