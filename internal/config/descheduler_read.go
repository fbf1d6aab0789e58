package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/rebalance"
)

// policyReader compiles a policy.
type policyReader struct {
	*faults
	provided bool // usage is to be had of metrics.k8s.io
	// was are the paths of a file of v1alpha1 by those of v1alpha2 that were made of them.
	was map[string]string
}

// form reads a document of either version as one of v1alpha2.
func (f *policyReader) form(d Document, how DeschedulerReading) (*policyForm, error) {
	must := fmt.Sprintf("must be %s %s", DeschedulerAPIVersion, DeschedulerKind)
	switch {
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerAPIVersion:
		form := &policyForm{}
		js := d.JSON
		if how.IgnoreUnknown {
			js = f.known(js)
		}
		f.decode("", js, form)
		return form, nil
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerOldAPIVersion && !how.RefuseOld:
		old := &oldForm{}
		f.decode("", d.JSON, old)
		return f.convert(old), nil
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerOldAPIVersion:
		must = "is read no more: `berth descheduler convert` writes it as " + DeschedulerAPIVersion
	}
	return nil, fmt.Errorf("%s: %s %s: %s", d.File, d.APIVersion, d.Kind, must)
}

// known turns faults about unknown fields outside of arguments into warnings.
func (f *policyReader) known(js []byte) []byte {
	var seen faults
	var form policyForm
	seen.decode("", js, &form)
	for _, err := range seen.errs {
		if path, _, unknown := strings.Cut(err.Error(), ": unknown field; "); unknown {
			f.warn("%s: unknown field, ignored as the Kubernetes descheduler does", path)
			continue
		}
		return js // it is refused anyway
	}
	if clean, err := json.Marshal(&form); err == nil {
		return clean
	}
	return js
}

// policy compiles what was read.
func (f *policyReader) policy(in *policyForm) rebalance.Policy {
	out := rebalance.Policy{
		NodeSelector: f.written("nodeSelector", or(in.NodeSelector, "")),
		Limits: rebalance.Limits{PerNode: f.most("maxNoOfPodsToEvictPerNode", in.MaxNoOfPodsToEvictPerNode),
			PerNamespace: f.most("maxNoOfPodsToEvictPerNamespace", in.MaxNoOfPodsToEvictPerNamespace), Total: f.most("maxNoOfPodsToEvictTotal", in.MaxNoOfPodsToEvictTotal)},
		Grace:         in.GracePeriodSeconds,
		FailureEvents: or(in.EvictionFailureEventNotification, false),
	}
	f.atLeast("gracePeriodSeconds", or(in.GracePeriodSeconds, 0), 0)
	f.providers(in)
	if len(in.Profiles) == 0 && len(f.errs) == 0 {
		f.warn("profiles: none: nothing is moved")
	}
	for i := range in.Profiles {
		out.Profiles = append(out.Profiles, f.profile(fmt.Sprintf("profiles[%d]", i), &in.Profiles[i]))
	}
	return out
}

// most is a limit; nil: none.
func (f *policyReader) most(path string, v *int64) *int {
	if v == nil {
		return nil
	}
	f.atLeast(path, *v, 0)
	f.atMost(path, *v, maxSeconds)
	n := int(*v)
	return &n
}

// providers finds out where usage is to be had.
func (f *policyReader) providers(in *policyForm) {
	var sources []string
	for i, p := range in.MetricsProviders {
		at := fmt.Sprintf("metricsProviders[%d].source", i)
		switch {
		case slices.Contains(sources, p.Source):
			f.add("%s: %q: is there twice", at, p.Source)
		case p.Source == "Prometheus":
			f.add("%s: Prometheus: is not asked here; must be %s", at, kubernetesMetrics)
		case p.Source != kubernetesMetrics:
			f.add("%s: %q: must be %s", at, p.Source, kubernetesMetrics)
		}
		sources = append(sources, p.Source)
	}
	f.provided = len(sources) > 0
	if c := in.MetricsCollector; c != nil {
		if len(sources) > 0 && c.Enabled {
			f.add("metricsCollector.enabled: true: cannot be given together with metricsProviders")
		}
		f.provided = f.provided || c.Enabled
	}
}

// verdict is all faults, in the words of the file.
func (f *policyReader) verdict(file string) error {
	var out []error
	for _, err := range f.errs {
		out = append(out, fmt.Errorf("%s: %s", file, f.inOldWords(err.Error())))
	}
	for i := range f.warnings {
		f.warnings[i] = file + ": " + f.inOldWords(f.warnings[i])
	}
	return errors.Join(out...)
}

// inOldWords puts the path of v1alpha1 before what is said of one of v1alpha2 that was made of it.
func (f *policyReader) inOldWords(s string) string {
	longest := ""
	for path := range f.was {
		if len(path) > len(longest) && strings.HasPrefix(s, path) && (len(s) == len(path) || strings.ContainsRune(".:[", rune(s[len(path)]))) {
			longest = path
		}
	}
	if longest == "" {
		return s
	}
	return f.was[longest] + s[len(longest):]
}
