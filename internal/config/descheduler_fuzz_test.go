package config

import (
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// FuzzPolicies checks that any text is compiled or refused, and that conversion keeps the
// meaning of a policy.
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
	f.Fuzz(checkRoundTrip)
}

// TestMangledPolicies runs FuzzPolicies on files in which words are exchanged.
func TestMangledPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var texts, words []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		words = append(words, strings.Fields(string(text))...)
	}
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		text := texts[r.Intn(len(texts))]
		for range 1 + r.Intn(3) {
			tokens := strings.Fields(text)
			text = strings.Replace(text, tokens[r.Intn(len(tokens))], words[r.Intn(len(words))], 1+r.Intn(2))
		}
		if checkRoundTrip(t, text); t.Failed() {
			t.Fatalf("the policy was\n%s", text)
		}
	}
}

// checkRoundTrip checks that conversion keeps the meaning of a policy.
func checkRoundTrip(t *testing.T, text string) {
	js, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return
	}
	for _, version := range []string{DeschedulerAPIVersion, DeschedulerV1Alpha1} {
		d := Document{File: "fuzz", APIVersion: version, Kind: DeschedulerKind, JSON: js}
		first, err := ReadDescheduler(d, DeschedulerReadOptions{})
		if err != nil {
			continue
		}
		out, _, err := ConvertDescheduler(d)
		if err != nil {
			t.Errorf("the policy is valid, but its conversion failed: %v", err)
			return
		}
		reconverted, err := yaml.YAMLToJSON(out)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ReadDescheduler(Document{File: "fuzz", APIVersion: DeschedulerAPIVersion, Kind: DeschedulerKind, JSON: reconverted}, DeschedulerReadOptions{})
		if err != nil || marshalPolicy(t, first.Policy) != marshalPolicy(t, second.Policy) {
			t.Errorf("error %v, want the same policy after conversion to\n%s", err, out)
		}
	}
}
