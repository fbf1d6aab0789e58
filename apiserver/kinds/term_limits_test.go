package kinds

import (
	"fmt"
	"strings"
	"testing"
)

// TestTermLimitsOfTemplates checks that a workload whose template exceeds a limit of pods is rejected, unless the
// stored object already exceeds it.
func TestTermLimitsOfTemplates(t *testing.T) {
	spec := func(restart string, gates int) string {
		var list []string
		for i := range gates {
			list = append(list, fmt.Sprintf(`{"name":"g%d"}`, i))
		}
		return `"spec":{"restartPolicy":"` + restart + `","containers":[{"name":"c","image":"app:1"}],"schedulingGates":[` + strings.Join(list, ",") + `]}`
	}
	const labels, selector = `"metadata":{"labels":{"a":"b"}},`, `"selector":{"matchLabels":{"a":"b"}},`
	for kind, object := range map[string]func(gates int) string{
		"apps/v1 DaemonSet": func(n int) string {
			return `{"spec":{` + selector + `"template":{` + labels + spec("Always", n) + `}}}`
		},
		"apps/v1 Deployment": func(n int) string {
			return `{"spec":{` + selector + `"template":{` + labels + spec("Always", n) + `}}}`
		},
		"apps/v1 ReplicaSet": func(n int) string {
			return `{"spec":{` + selector + `"template":{` + labels + spec("Always", n) + `}}}`
		},
		"apps/v1 StatefulSet": func(n int) string {
			return `{"spec":{` + selector + `"template":{` + labels + spec("Always", n) + `}}}`
		},
		"batch/v1 CronJob": func(n int) string {
			return `{"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{` + spec("Never", n) + `}}}}}`
		},
		"batch/v1 Job":   func(n int) string { return `{"spec":{"template":{` + spec("Never", n) + `}}}` },
		"v1 PodTemplate": func(n int) string { return `{"template":{` + spec("Always", n) + `}}` },
		"v1 ReplicationController": func(n int) string {
			return `{"spec":{"selector":{"a":"b"},"template":{` + labels + spec("Always", n) + `}}}`
		},
	} {
		if _, errs := createObject(t, kind+" "+object(64)); errs != "" {
			t.Errorf("%s with 64 gates: got errors %q, want none", kind, errs)
		}
		large, errs := createObject(t, kind+" "+object(65))
		if !strings.Contains(errs, "schedulingGates: ") || strings.Count(errs, "schedulingGates") != 1 {
			t.Errorf("%s with 65 gates: got %q, want one error", kind, errs)
		}
		if large == nil {
			continue
		}
		_, k := decode(t, kind+" "+object(65))
		if errs := k.ValidateUpdate(t.Context(), large, large); strings.Contains(joinErrors(errs), "schedulingGates") {
			t.Errorf("%s that already exceeds the limit: got errors %v, want none", kind, errs)
		}
	}
}
