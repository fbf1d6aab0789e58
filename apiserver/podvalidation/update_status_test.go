package podvalidation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/berthproject/berth/apiserver/podvalidation/podstrategy"
)

// updateStatus prepares and validates an update of the status.
func updateStatus(newPod, oldPod *corev1.Pod) field.ErrorList {
	podstrategy.PrepareForStatusUpdate(newPod, oldPod)
	return ValidatePodStatusUpdate(newPod, oldPod)
}

func TestPodStatusUpdateIsValidated(t *testing.T) {
	checkChanges(t, []change{
		{"changes of the spec are ignored", ``, `{spec: {hostname: h}, status: {phase: Running}}`, nil},
		{"the QoS class is immutable", ``, `status: {qosClass: Guaranteed}`,
			[]string{`status.qosClass: Invalid value: "Guaranteed": field is immutable`}},
		{"a condition type has the syntax of a label", ``, `status: {conditions: [{type: "a b", status: "True"}]}`,
			[]string{`status.conditions[0].Type: Invalid value: "a b": ` + invalidNameReason}},
		{"a pod has one address of a family", ``, `status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}]}`,
			[]string{`status.podIPs: Invalid value: [{"ip":"10.0.0.1"},{"ip":"10.0.0.2"}]: may specify no more than one IP for each IP family`}},
	}, updateStatus)
}

func TestTerminatedContainersRestartByPolicy(t *testing.T) {
	const rejected = `status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state`
	for _, tc := range []struct {
		name, spec string
		exitCode   int32
		want       []string
	}{
		{"restartPolicy Always", ``, 0, nil},
		{"restartPolicy Never", `spec: {restartPolicy: Never}`, 1, []string{rejected}},
		{"restartPolicy OnFailure, failed", `spec: {restartPolicy: OnFailure}`, 1, nil},
		{"restartPolicy OnFailure, succeeded", `spec: {restartPolicy: OnFailure}`, 0, []string{rejected}},
		{"container restartPolicy Always",
			`spec: {restartPolicy: Never, containers: [{name: c, image: x, restartPolicy: Always}]}`, 0, nil},
		{"restart rule for the exit code",
			`spec: {restartPolicy: Never, containers: [{name: c, image: x, restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [7]}}]}]}`, 7, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			oldPod := storedPod(t, tc.spec)
			newPod := oldPod.DeepCopy()
			oldPod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c",
				State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: tc.exitCode}}}}
			newPod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
			wantErrors(t, updateStatus(newPod, oldPod), tc.want)
		})
	}
}

func TestStatusUpdateKeepsObservedGenerations(t *testing.T) {
	oldPod := storedPod(t, ``)
	oldPod.Status.ObservedGeneration = 3
	oldPod.Status.Conditions = []corev1.PodCondition{{Type: "A", Status: "True", ObservedGeneration: 2}}
	newPod := storedPod(t, ``)
	newPod.Status.Conditions = []corev1.PodCondition{{Type: "A", Status: "False"}}
	podstrategy.PrepareForStatusUpdate(newPod, oldPod)
	if newPod.Status.ObservedGeneration != 3 || newPod.Status.Conditions[0].ObservedGeneration != 2 {
		t.Errorf("got observed generations %d and %d, want 3 and 2", newPod.Status.ObservedGeneration, newPod.Status.Conditions[0].ObservedGeneration)
	}
}
