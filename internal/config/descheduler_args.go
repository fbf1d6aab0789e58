package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berthproject/berth/engine/descheduling"
)

// pluginReader compiles the arguments of one plugin of a policy.
type pluginReader struct {
	*policyReader
	path, plugin string
	raw          []byte
}

func (r *pluginReader) argErrorf(format string, args ...any) {
	r.errorf("%s."+format, append([]any{r.path}, args...)...)
}

// renamedArgs maps arguments of older releases to their current names.
var renamedArgs = map[string]string{
	"includeSoftConstraints": "constraints: [DoNotSchedule, ScheduleAnyway]",
	"podStatusPhases":        "states",
	"maxPodLifeTime":         "maxPodLifeTimeSeconds",
	"thresholdPriority":      "priorityThreshold.value of " + evictorName,
	"nodeFit":                "nodeFit of " + evictorName,
}

// read decodes the arguments strictly. into is a pointer to their type.
func (r *pluginReader) read(into any) {
	if len(r.raw) == 0 {
		return
	}
	if typeMeta := r.typeMeta(r.path, r.raw); typeMeta.APIVersion != "" && typeMeta.APIVersion != DeschedulerAPIVersion {
		r.argErrorf("apiVersion: %q: must be %s", typeMeta.APIVersion, DeschedulerAPIVersion)
	} else if want := r.plugin + "Args"; typeMeta.Kind != "" && typeMeta.Kind != want {
		r.argErrorf("kind: %q: must be %s", typeMeta.Kind, want)
	}
	numErrs := len(r.errs)
	r.decode(r.path, r.raw, into)
	for i, err := range r.errs[numErrs:] {
		path, _, _ := strings.Cut(err.Error(), ": unknown field; ")
		if newName := renamedArgs[strings.TrimPrefix(path, r.path+".")]; newName != "" && path != err.Error() {
			r.errs[numErrs+i] = fmt.Errorf("%s: unknown field; it is now %s", path, newName)
		}
	}
}

// requireCount returns v and reports an error if it is negative or above maxSeconds.
func (r *pluginReader) requireCount(field string, v int64) int64 {
	r.requireAtLeast(r.path+"."+field, v, 0)
	r.requireAtMost(r.path+"."+field, v, maxSeconds)
	return v
}

// seconds converts a number of seconds that must not be negative; nil stays nil.
func (r *pluginReader) seconds(field string, v *int64) *time.Duration {
	if v == nil {
		return nil
	}
	d := time.Duration(r.requireCount(field, *v)) * time.Second
	return &d
}

// includeExclude selects namespaces or kinds.
type includeExclude struct {
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

func (r *pluginReader) namespaces(field string, in *includeExclude) (out descheduling.Namespaces) {
	if in == nil {
		return out
	}
	if len(in.Include) > 0 && len(in.Exclude) > 0 {
		r.argErrorf("%s: include and exclude: only one of them can be given", field)
	}
	return descheduling.Namespaces{Include: in.Include, Exclude: in.Exclude}
}

type podFilterArgs struct {
	Namespaces    *includeExclude       `json:"namespaces,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

func (r *pluginReader) scope(in *podFilterArgs) descheduling.Scope {
	return descheduling.Scope{Namespaces: r.namespaces("namespaces", in.Namespaces), Labels: r.selector("labelSelector", in.LabelSelector)}
}

// requireOneOf reports entries that are not among words or occur twice.
func (r *pluginReader) requireOneOf(field string, list []string, words ...string) {
	for i, w := range list {
		switch {
		case !slices.Contains(words, w):
			r.argErrorf("%s[%d]: %q: %s", field, i, w, suggest(w, words))
		case slices.Index(list, w) < i:
			r.argErrorf("%s[%d]: %q: duplicate value", field, i, w)
		}
	}
}

// requireNonEmpty returns list and reports empty entries. what describes a valid entry.
func (r *pluginReader) requireNonEmpty(field string, list []string, what string) []string {
	for i, w := range list {
		if w == "" {
			r.argErrorf("%s[%d]: \"\": must be %s", field, i, what)
		}
	}
	return list
}
