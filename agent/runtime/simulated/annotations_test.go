package simulated

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestInvalidAnnotations(t *testing.T) {
	for key, tc := range map[string]struct{ valid, invalid, want string }{
		"sim.berth.dev/run-seconds":      {"0.5", "abc", `sim.berth.dev/run-seconds: "abc": must be a number of seconds, for example 30`},
		"sim.berth.dev/exit-code":        {"255", "256", `sim.berth.dev/exit-code: "256": must be a number from 0 to 255, for example 1`},
		"sim.berth.dev/stop-seconds":     {"3", "-3", `sim.berth.dev/stop-seconds: "-3": must be`},
		"sim.berth.dev/prestop-seconds":  {"3", "", `sim.berth.dev/prestop-seconds: "": must be`},
		"sim.berth.dev/usage":            {"memory=1Gi", "memory=foo", `sim.berth.dev/usage: "memory=foo": memory: "foo": must be an amount such as 500, 100Mi or 1.5Gi; ignored; example: memory=100Mi`},
		"main.sim.berth.dev/usage":       {"pids=3", strings.Repeat("x", 5000), `main.sim.berth.dev/usage: "xxx`},
		"main.sim.berth.dev/run-seconds": {"3", "soon", `main.sim.berth.dev/run-seconds: "soon": must be`},
		"other.sim.berth.dev/usage":      {invalid: "x"}, // no such container
		"sim.berth.dev/unknown":          {invalid: "x"},
		"example.org/usage":              {invalid: "x"},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{key: tc.invalid}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
		message := strings.Join(InvalidAnnotations(pod), "\n")
		if !strings.HasPrefix(message, tc.want) || (tc.want == "") != (message == "") || len(message) > 800 {
			t.Errorf("%s: message %q, want %q", key, message, tc.want)
		}
		if pod.Annotations[key] = tc.valid; tc.valid != "" && len(InvalidAnnotations(pod)) > 0 {
			t.Errorf("%s: messages %q for the valid value %q, want none", key, InvalidAnnotations(pod), tc.valid)
		}
	}
}
