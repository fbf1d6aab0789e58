package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/berthproject/berth/internal/testkit/reference"
)

// TestConfigurationReference checks docs/reference/configuration.md.
func TestConfigurationReference(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Configuration

BerthConfiguration has the options that the configuration files of the Kubernetes components do not have. Every option has a
default. ` + "`berth config`" + ` prints the effective options; every command with the flag ` + "`--config`" + ` reads them. Several files can be
given, and a file may contain several documents:

` + "```yaml" + `
apiVersion: ` + APIVersion + `
kind: ` + Kind + `
scheduler:
  seed: 7
` + "```" + `

The same flag reads KubeSchedulerConfiguration and KubeletConfiguration of Kubernetes.
`)
	describeOptions(t, &b, reflect.ValueOf(Default()), "")
	reference.Check(t, "configuration.md", b.String())
}

// describeOptions writes a section with a table of the options of a struct, then its nested structs.
func describeOptions(t *testing.T, b *strings.Builder, v reflect.Value, path string) {
	var rows [][]string
	var nested []int
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if f.Type.Kind() == reflect.Struct {
			nested = append(nested, i)
			continue
		}
		value, err := json.Marshal(v.Field(i).Interface())
		if err != nil {
			t.Fatal(err)
		}
		if path != "" {
			rows = append(rows, []string{reference.Code(path + "." + f.Tag.Get("json")), reference.Code(string(value)), f.Tag.Get("doc")})
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n" + reference.Table([]string{"option", "default", "meaning"}, rows))
	}
	for _, i := range nested {
		f := v.Type().Field(i)
		name := strings.TrimPrefix(path+"."+f.Tag.Get("json"), ".")
		b.WriteString("\n## " + name + "\n\n" + f.Tag.Get("doc") + "\n")
		describeOptions(t, b, v.Field(i), name)
	}
}
