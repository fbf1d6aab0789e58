package config

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// documentsOf returns the documents of a file with a text.
func documentsOf(t *testing.T, text string) []Document {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	docs, err := Documents([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestPrintedConfigurationReadsBack(t *testing.T) {
	c := Default()
	c.APIServer.DisableAdmissionPlugins = []string{"A", "B"}
	c.Scheduler.Seed = 1<<64 - 1
	var b bytes.Buffer
	if err := Print(&b, c); err != nil {
		t.Fatal(err)
	}
	got, err := ReadBerth(documentsOf(t, b.String())[0])
	if err != nil || !reflect.DeepEqual(got, c) {
		t.Errorf("got error %v and\n%+v\nwant\n%+v\nfrom\n%s", err, got, c, b.String())
	}
}

func TestEveryOptionIsDocumented(t *testing.T) {
	var walk func(reflect.Type, string)
	walk = func(s reflect.Type, path string) {
		for i := range s.NumField() {
			f := s.Field(i)
			p := path + f.Tag.Get("json")
			if f.Tag.Get("doc") == "" && p != "apiVersion" && p != "kind" {
				t.Errorf("%s has no doc", p)
			}
			if f.Type.Kind() == reflect.Struct {
				walk(f.Type, p+".")
			}
		}
	}
	walk(reflect.TypeFor[Berth](), "")
}

func TestInvalidBerthFiles(t *testing.T) {
	header := "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
	for name, tc := range map[string]struct{ text, want string }{
		"unknown field":                          {header + "scheduler: {sed: 1}", `unknown field "scheduler.sed"`},
		"wrong type":                             {header + "scheduler: {seed: word}", `scheduler.seed: "word": must be a whole number`},
		"an unsigned integer below 0":            {header + "scheduler: {seed: -4}", "c.yaml: scheduler.seed: -4: must be 0 or more"},
		"above the range of integers":            {header + "scheduler: {seed: 1e30}", "scheduler.seed: 1e+30: must be a whole number from 0 to 18446744073709551615"},
		"a large value next to an invalid one":   {header + "scheduler: {seed: 18446744073709551615, bindWorkers: many}", `scheduler.bindWorkers: "many": must be a whole number`},
		"two invalid values":                     {header + "scheduler: {seed: word, bindWorkers: 0}", "scheduler.bindWorkers: 0: must be between 1 and 1000"},
		"below the range":                        {header + "scheduler: {bindWorkers: 0}", "scheduler.bindWorkers: 0: must be between 1 and 1000"},
		"all errors at once":                     {header + "nodes: {statusWriters: -1, x: 1}", "nodes.statusWriters: -1"},
		"plugin twice":                           {header + "apiServer: {disableAdmissionPlugins: [A, A]}", "apiServer.disableAdmissionPlugins[1]"},
		"a rate below 0":                         {header + "nodeLifecycle: {evictionRate: -0.1}", "nodeLifecycle.evictionRate: -0.1: must be between 0 and 1000"},
		"a ratio above 1":                        {header + "nodeLifecycle: {unhealthyZoneThreshold: 55}", "nodeLifecycle.unhealthyZoneThreshold: 55: must be between 0 and 1"},
		"a lease renewal above the grace period": {header + "nodes: {leaseRenewalSeconds: 51}", "nodes.leaseRenewalSeconds: 51: must be at most nodeLifecycle.gracePeriodSeconds, 50"},
		"a grace period of 0":                    {header + "nodeLifecycle: {gracePeriodSeconds: 0}", "nodeLifecycle.gracePeriodSeconds: 0: must be between 2 and 86400"},
		"a word instead of a boolean":            {header + "taints: {frozenDeadline: never}", "taints"},
		"not an accepted word":                   {header + "budgets: {severalMatch: or}", `budgets.severalMatch: "or": must be and or refuse`},
		"negative toleration":                    {header + "apiServer: {defaultUnreachableTolerationSeconds: -5}", "apiServer.defaultUnreachableTolerationSeconds: -5: must be between 0 and 31536000"},
		"a limit below 0":                        {header + "podGC: {evictedCap: -1}", "podGC.evictedCap: -1: must be between 0 and 1000000"},
		"maximum below the initial value":        {header + "holds: {initialSeconds: 60, maxSeconds: 10}", "holds.maxSeconds: 10: must be between 60 and 86400"},
		"a word instead of a boolean, pressure":  {header + "pressure: {confirm: sometimes}", `pressure.confirm: "sometimes": must be true or false`},
		"an unknown field of pressure":           {header + "pressure: {confirmed: true}", `unknown field "pressure.confirmed"`},
		"another version":                        {strings.Replace(header, "v1alpha1", "v1", 1), "must be berth.dev/v1alpha1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadBerth(documentsOf(t, tc.text)[0])
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "c.yaml") {
				t.Errorf("got error %v, want one with c.yaml and %q", err, tc.want)
			}
		})
	}
}

func TestInvalidDocuments(t *testing.T) {
	for name, text := range map[string]string{
		"no kind": "a: 1", "a key twice": "kind: A\nkind: B\napiVersion: x", "no YAML": "{", "a list": "- a",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if docs, err := Documents([]string{file}); err == nil {
				t.Errorf("got documents %+v, want an error", docs)
			}
		})
	}
}

func TestSeveralKindsInOneFile(t *testing.T) {
	docs := documentsOf(t, "apiVersion: a\nkind: A\n---\n---\napiVersion: b\nkind: B\n")
	if len(docs) != 2 || docs[0].Kind != "A" || docs[1].Kind != "B" {
		t.Errorf("got documents %+v, want kinds A and B", docs)
	}
}
