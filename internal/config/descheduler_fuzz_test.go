package config

import (
	"os"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzPolicies: whatever a file says, it is read or refused; what is read converts to a form that means the same.
func FuzzPolicies(f *testing.F) {
	files, err := filepath.Glob("testdata/policies/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		js, err := yaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			return
		}
		for _, version := range []string{DeschedulerAPIVersion, DeschedulerOldAPIVersion} {
			d := Document{File: "fuzz", APIVersion: version, Kind: DeschedulerKind, JSON: js}
			first, err := ReadDescheduler(d, DeschedulerReading{})
			if err != nil {
				continue
			}
			out, _, err := ConvertDescheduler(d)
			if err != nil {
				t.Fatalf("is read, and not converted: %v", err)
			}
			again, err := yaml.YAMLToJSON(out)
			if err != nil {
				t.Fatal(err)
			}
			second, err := ReadDescheduler(Document{File: "fuzz", APIVersion: DeschedulerAPIVersion, Kind: DeschedulerKind, JSON: again}, DeschedulerReading{})
			if err != nil || written(t, first.Policy) != written(t, second.Policy) {
				t.Fatalf("%v: converted it means something else:\n%s", err, out)
			}
		}
	})
}
