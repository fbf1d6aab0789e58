package config

import (
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/berthproject/berth/engine/rebalance"
)

// The API versions of a descheduler's policy: that of today, and that with strategies, which the Kubernetes
// descheduler has not read since 0.31.
const (
	DeschedulerAPIVersion    = "descheduler/v1alpha2"
	DeschedulerOldAPIVersion = "descheduler/v1alpha1"
	DeschedulerKind          = "DeschedulerPolicy"
)

// Descheduler is a DeschedulerPolicy, read.
type Descheduler struct {
	Policy rebalance.Policy
	// Warnings tell what was converted, or accepted without having an effect.
	Warnings []string
}

// DeschedulerReading says where files are read as the Kubernetes descheduler 0.36 does.
type DeschedulerReading struct {
	// IgnoreUnknown: unknown fields outside of a plugin's arguments are warnings.
	IgnoreUnknown bool
	// RefuseOld: v1alpha1 is refused, rather than converted.
	RefuseOld bool
}

// ReadDescheduler decodes a policy of either version. What cannot be is refused with path, value and what
// would be right, all at once.
func ReadDescheduler(d Document, how DeschedulerReading) (Descheduler, error) {
	f := &policyReader{faults: &faults{}}
	form, err := f.form(d, how)
	if err != nil {
		return Descheduler{}, err
	}
	out := Descheduler{Policy: f.policy(form)}
	if err := f.verdict(d.File); err != nil {
		return Descheduler{}, err
	}
	out.Warnings = f.warnings
	return out, nil
}

// ConvertDescheduler writes a policy of either version in the form of v1alpha2, as YAML, with a warning for each
// field that was converted.
func ConvertDescheduler(d Document) (yaml []byte, warnings []string, err error) {
	f := &policyReader{faults: &faults{}}
	form, err := f.form(d, DeschedulerReading{})
	if err != nil {
		return nil, nil, err
	}
	f.policy(form)
	if err := f.verdict(d.File); err != nil {
		return nil, nil, err
	}
	form.APIVersion, form.Kind = DeschedulerAPIVersion, DeschedulerKind
	yaml, err = sigsyaml.Marshal(form)
	return yaml, f.warnings, err
}
