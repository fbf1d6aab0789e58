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
		t.Fatalf("got %d documents, %v, want 1", len(docs), err)
	}
	docs[0].File = filepath.Base(file)
	return docs[0]
}

// compareGolden compares got with a file, or writes the file if BERTH_REWRITE is set.
func compareGolden(t *testing.T, file, got string) {
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
		t.Fatalf("got %d files, %v, want at least 30", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			docs, err := Documents([]string{file})
			if err == nil {
				docs[0].File = filepath.Base(file)
				_, err = ReadDescheduler(docs[0], DeschedulerReadOptions{})
				if _, _, convertErr := ConvertDescheduler(docs[0]); fmt.Sprint(convertErr) != fmt.Sprint(err) {
					t.Errorf("conversion returned error %v, want %v", convertErr, err)
				}
			}
			if err == nil {
				t.Fatal("ReadDescheduler returned no error")
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".txt", strings.ReplaceAll(err.Error(), file, filepath.Base(file))+"\n")
		})
	}
}

// TestConvertPolicies compares the conversion and its warnings with the files of
// testdata/policies/good. The result must have the same meaning and convert to itself
// without warnings.
func TestConvertPolicies(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/good/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v, want some", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			d := policyDocument(t, file)
			out, warnings, err := ConvertDescheduler(d)
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".txt", strings.Join(append(warnings, string(out)), "\n"))
			js, err := yaml.YAMLToJSON(out)
			if err != nil {
				t.Fatal(err)
			}
			converted := Document{File: d.File, APIVersion: DeschedulerAPIVersion, Kind: DeschedulerKind, JSON: js}
			if reconverted, _, err := ConvertDescheduler(converted); err != nil || string(reconverted) != string(out) {
				t.Errorf("converted twice: error %v, got\n%s\nwant\n%s", err, reconverted, out)
			}
			first, err := ReadDescheduler(d, DeschedulerReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			second, err := ReadDescheduler(converted, DeschedulerReadOptions{RejectV1Alpha1: true})
			if err != nil || marshalPolicy(t, first.Policy) != marshalPolicy(t, second.Policy) {
				t.Errorf("error %v, the converted policy is\n%s\nwant\n%s", err, marshalPolicy(t, second.Policy), marshalPolicy(t, first.Policy))
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
		compareGolden(t, "testdata/policies/good/"+name+".json", marshalPolicy(t, d.Policy)+"\n")
	}
}

// TestDefaultDescheduler checks that the default policy has eight strategies and no
// warnings.
func TestDefaultDescheduler(t *testing.T) {
	d := DefaultDescheduler()
	if len(d.Policy.Profiles) != 1 || len(d.Warnings) != 0 {
		t.Fatalf("got %+v, want 1 profile and no warnings", d)
	}
	p := d.Policy.Profiles[0]
	if n := len(p.Deschedule) + len(p.Balance); n != 8 {
		t.Errorf("got %d strategies, want 8", n)
	}
	if e := p.Evictor; !e.ProtectLocalStorage || !e.ProtectDaemonSets || !e.ProtectSystemCritical || !e.ProtectFailedBare || e.ProtectPVC {
		t.Errorf("evictor %+v, want the four default protections only", e)
	}
}

// TestUpstreamReadOptions checks IgnoreUnknown and RejectV1Alpha1.
func TestUpstreamReadOptions(t *testing.T) {
	options := DeschedulerReadOptions{IgnoreUnknown: true, RejectV1Alpha1: true}
	d, err := ReadDescheduler(policyDocument(t, "testdata/policies/faulty/top-field.yaml"), options)
	if want := "top-field.yaml: strategies: unknown field, ignored as the Kubernetes descheduler does"; err != nil || len(d.Warnings) == 0 || d.Warnings[0] != want {
		t.Errorf("got error %v and warnings %q, want %q", err, d.Warnings, want)
	}
	if _, err := ReadDescheduler(policyDocument(t, "testdata/policies/faulty/args-unknown.yaml"), options); err == nil {
		t.Error("an unknown argument returned no error")
	}
	_, err = ReadDescheduler(policyDocument(t, "testdata/policies/good/old.yaml"), options)
	if err == nil || !strings.Contains(err.Error(), "berth descheduler convert") {
		t.Errorf("v1alpha1: got error %v, want one that names the conversion", err)
	}
}
