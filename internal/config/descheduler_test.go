package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/berthproject/berth/engine/descheduling"
)

func policyDocument(t *testing.T, file string) Document {
	t.Helper()
	docs, err := Documents([]string{file})
	if err != nil || len(docs) != 1 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	docs[0].File = filepath.Base(file)
	return docs[0]
}

// golden compares got with a file, or writes the file if BERTH_REWRITE is set.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("BERTH_REWRITE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestInvalidPolicies compares the errors with the .txt file next to each file of
// testdata/policies/faulty.
func TestInvalidPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/faulty/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files, %v: there must be 30", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			docs, err := Documents([]string{file})
			if err == nil {
				docs[0].File = filepath.Base(file)
				_, err = ReadDescheduler(docs[0], DeschedulerReadOptions{})
				if _, _, other := ConvertDescheduler(docs[0]); fmt.Sprint(other) != fmt.Sprint(err) {
					t.Errorf("conversion returned %v", other)
				}
			}
			if err == nil {
				t.Fatal("is read")
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", strings.ReplaceAll(err.Error(), file, filepath.Base(file))+"\n")
		})
	}
}

// TestConvertPolicies compares the conversion and its warnings with the files of
// testdata/policies/good. The result must have the same meaning and convert to itself
// without warnings.
func TestConvertPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := policyDocument(t, file)
			out, warnings, err := ConvertDescheduler(d)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".txt", strings.Join(append(warnings, string(out)), "\n"))
			js, err := yaml.YAMLToJSON(out)
			if err != nil {
				t.Fatal(err)
			}
			converted := Document{File: d.File, APIVersion: DeschedulerAPIVersion, Kind: DeschedulerKind, JSON: js}
			if reconverted, _, err := ConvertDescheduler(converted); err != nil || string(reconverted) != string(out) {
				t.Errorf("converted twice: %v\n%s", err, reconverted)
			}
			first, err := ReadDescheduler(d, DeschedulerReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			second, err := ReadDescheduler(converted, DeschedulerReadOptions{RejectV1Alpha1: true})
			if err != nil || marshalPolicy(t, first.Policy) != marshalPolicy(t, second.Policy) {
				t.Errorf("%v: means\n%s\nand converted\n%s", err, marshalPolicy(t, first.Policy), marshalPolicy(t, second.Policy))
			}
		})
	}
}

func marshalPolicy(t *testing.T, p descheduling.Policy) string {
	t.Helper()
	js, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(js)
}

// TestCompiledPolicies compares the compiled policies with the files of
// testdata/policies/good.
func TestCompiledPolicies(t *testing.T) {
	for _, name := range []string{"old", "all"} {
		d, err := ReadDescheduler(policyDocument(t, "testdata/policies/good/"+name+".yaml"), DeschedulerReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/policies/good/"+name+".json", marshalPolicy(t, d.Policy)+"\n")
	}
}

// TestDefaultDescheduler checks that the default policy has eight strategies and no
// warnings.
func TestDefaultDescheduler(t *testing.T) {
	d := DefaultDescheduler()
	if len(d.Policy.Profiles) != 1 || len(d.Warnings) != 0 {
		t.Fatalf("%+v", d)
	}
	p := d.Policy.Profiles[0]
	if n := len(p.Deschedule) + len(p.Balance); n != 8 {
		t.Errorf("%d strategies, want 8", n)
	}
	if e := p.Evictor; !e.ProtectLocalStorage || !e.ProtectDaemonSets || !e.ProtectSystemCritical || !e.ProtectFailedBare || e.ProtectPVC {
		t.Errorf("evictor: %+v", e)
	}
}

// TestUpstreamReadOptions checks IgnoreUnknown and RejectV1Alpha1.
func TestUpstreamReadOptions(t *testing.T) {
	how := DeschedulerReadOptions{IgnoreUnknown: true, RejectV1Alpha1: true}
	d, err := ReadDescheduler(policyDocument(t, "testdata/policies/faulty/top-field.yaml"), how)
	if want := "top-field.yaml: strategies: unknown field, ignored as the Kubernetes descheduler does"; err != nil || len(d.Warnings) == 0 || d.Warnings[0] != want {
		t.Errorf("%v, %q", err, d.Warnings)
	}
	if _, err := ReadDescheduler(policyDocument(t, "testdata/policies/faulty/args-unknown.yaml"), how); err == nil {
		t.Error("an unknown argument is read")
	}
	_, err = ReadDescheduler(policyDocument(t, "testdata/policies/good/old.yaml"), how)
	if err == nil || !strings.Contains(err.Error(), "berth descheduler convert") {
		t.Errorf("the old version: %v", err)
	}
}
