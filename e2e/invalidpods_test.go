package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// invalidPod is an invalid pod and the error that the API shows.
type invalidPod struct {
	spec, container string   // fields of the pod's spec and of its container, in YAML flow style
	where           string   // place of the error: waiting, terminated, failed, unscheduled, event or any
	reasons         string   // accepted reasons, separated by spaces
	words           []string // parts of the message
}

// onNode places a pod without the scheduler.
const onNode = "nodeName: v1, "

// volumeWith returns the fields of a pod with a volume of the source: those of its spec and those of its container.
func volumeWith(source string) (spec, container string) {
	return "volumes: [{name: v, " + source + "}], ", `volumeMounts: [{name: v, mountPath: /v}]`
}

func invalidPods() map[string]invalidPod {
	mounting := func(source string, words ...string) invalidPod {
		spec, container := volumeWith(source)
		return invalidPod{spec, container, "event", "FailedMount", append([]string{`MountVolume.SetUp failed for volume "v" : `}, words...)}
	}
	mount := mounting("configMap: {name: existing}")
	return map[string]invalidPod{
		"no-such-tag":       {"", `image: IMAGE-no-such-tag`, "waiting", "ErrImagePull ImagePullBackOff", []string{"not found"}},
		"no-registry":       {"", `image: "127.0.0.1:1/missing/listens:1"`, "waiting", "ErrImagePull ImagePullBackOff", []string{"127.0.0.1:1"}},
		"no-image-name":     {"", `image: "Not:An:Image"`, "waiting", "InvalidImageName", []string{`"Not:An:Image"`, "couldn't parse image name"}},
		"never-pulled":      {"", `image: "127.0.0.1:1/missing:1", imagePullPolicy: Never`, "waiting", "ErrImageNeverPull", []string{"127.0.0.1:1/missing:1", "is not present with pull policy of Never"}},
		"no-command":        {"restartPolicy: Never, ", `command: [no-such-command]`, "terminated", "StartError", []string{"no-such-command", "executable file not found"}},
		"crashes":           {"", `args: [exit, "3"]`, "waiting", "CrashLoopBackOff", []string{"back-off ", "s restarting failed container=main pod=crashes_default("}},
		"no-env-map":        {"", `env: [{name: A, valueFrom: {configMapKeyRef: {name: missing, key: a}}}]`, "waiting", "CreateContainerConfigError", []string{`configmap "missing" not found`}},
		"no-env-key":        {"", `env: [{name: A, valueFrom: {configMapKeyRef: {name: existing, key: b}}}]`, "waiting", "CreateContainerConfigError", []string{"couldn't find key b in ConfigMap default/existing"}},
		"no-env-secret":     {"", `envFrom: [{secretRef: {name: missing}}]`, "waiting", "CreateContainerConfigError", []string{`secret "missing" not found`}},
		"root-forbidden":    {"securityContext: {runAsNonRoot: true}, ", `workingDir: /`, "waiting", "CreateContainerConfigError", []string{"container has runAsNonRoot and image will run as root", "container: main"}},
		"root-by-number":    {"", `securityContext: {runAsNonRoot: true, runAsUser: 0}`, "waiting", "CreateContainerConfigError", []string{"container's runAsUser breaks non-root policy", "container: main"}},
		"no-subpath":        {mount.spec, `volumeMounts: [{name: v, mountPath: /v, subPath: none}]`, "waiting", "CreateContainerConfigError", []string{`failed to prepare subPath for volumeMount "v" of container "main"`, "none"}},
		"no-subpath-by-env": {mount.spec, `volumeMounts: [{name: v, mountPath: /v, subPathExpr: $(UNSET)}]`, "waiting", "CreateContainerConfigError", []string{`volumeMount "v": subPathExpr "$(UNSET)": missing value for "UNSET"`}},
		"little-memory":     {"restartPolicy: Never, ", `resources: {limits: {memory: 64Ki}}`, "any", "StartError RunContainerError OOMKilled ContainerCannotRun CreateContainerError FailedCreatePodSandBox", nil},
		"no-map":            mounting("configMap: {name: missing}", `configmap "missing" not found`),
		"no-secret":         mounting("secret: {secretName: missing}", `secret "missing" not found`),
		"no-key":            mounting("configMap: {name: existing, items: [{key: b, path: b}]}", "references non-existent config key: b"),
		"not-a-directory":   mounting("hostPath: {path: /etc/passwd, type: Directory}", "hostPath type check failed: /etc/passwd is not a directory"),
		"no-such-kind":      mounting("nfs: {server: localhost, path: /}", "unsupported kind of volume"),
		"no-claim":          {"volumes: [{name: v, persistentVolumeClaim: {claimName: missing}}], ", `workingDir: /`, "unscheduled", "Unschedulable", []string{`persistentvolumeclaim "missing" not found`}},
		"sysctl":            {"securityContext: {sysctls: [{name: kernel.msgmax, value: \"1\"}]}, ", `workingDir: /`, "failed", "SysctlForbidden", []string{`forbidden sysctl: "kernel.msgmax" not allowlisted`}},
		"too-large":         {onNode, `resources: {requests: {cpu: 999}}`, "failed", "OutOfcpu", []string{"Node didn't have enough resource: cpu, requested: 999000"}},
		"other-node":        {onNode + "nodeSelector: {disk: none}, ", `workingDir: /`, "failed", "NodeAffinity", []string{"node(s) didn't match Pod's node affinity/selector"}},
		"too-long":          {"activeDeadlineSeconds: 1, ", `workingDir: /`, "failed", "DeadlineExceeded", []string{"Pod was active on the node longer than the specified deadline"}},
		"no-port":           {"", `readinessProbe: {periodSeconds: 1, httpGet: {path: /, port: web}}`, "event", "Unhealthy", []string{"Readiness probe errored", `"web" is not a port of container "main"`}},
		"no-server":         {"", `livenessProbe: {periodSeconds: 1, failureThreshold: 1, tcpSocket: {port: 1}}`, "event", "Unhealthy", []string{"Liveness probe failed: ", "connection refused"}},
		"no-hook":           {"", `lifecycle: {postStart: {exec: {command: [no-such-command]}}}`, "event", "FailedPostStartHook", []string{"no-such-command"}},
	}
}

// createInvalidPods creates the invalid pods and a valid pod named good. It returns the invalid pods by name.
func (c *virtualNodeCluster) createInvalidPods() map[string]invalidPod {
	c.t.Helper()
	c.mustKubectl("create", "configmap", "existing", "--from-literal=a=1")
	pods := invalidPods()
	var manifests []string
	for name, p := range pods {
		image, container := c.image, p.container
		if at := strings.Index(container, "image: "); at >= 0 {
			image, container, _ = strings.Cut(container[at+len("image: "):], ",")
			image = strings.Trim(strings.ReplaceAll(image, "IMAGE", c.image), `" `)
		}
		manifests = append(manifests, strings.ReplaceAll(c.pod(name, p.spec, strings.TrimSpace(container)), fmt.Sprintf("image: %q", c.image), fmt.Sprintf("image: %q", image)))
	}
	c.run(append(manifests, c.pod("good", "", "workingDir: /"))...)
	return pods
}

// checkInvalidPods checks that the error of each invalid pod is reported as the kubelet reports it, and
// that the valid pod runs. It deletes all of them.
func (c *virtualNodeCluster) checkInvalidPods(t *testing.T, pods map[string]invalidPod) {
	names := slices.Collect(maps.Keys(pods))
	eventually(t, eventTimeout, func() error {
		var events corev1.EventList
		c.json(&events, "get", "events")
		var errs []error
		for _, p := range c.pods() {
			want, ok := pods[p.Name]
			if !ok {
				continue
			}
			if err := want.checkReported(&p, events.Items); err != nil {
				errs = append(errs, err)
				continue
			}
			delete(pods, p.Name)
		}
		if len(pods) > len(errs) {
			errs = append(errs, fmt.Errorf("%d pods do not exist", len(pods)-len(errs)))
		}
		return errors.Join(errs...)
	})
	c.mustKubectl("wait", "--for=condition=Ready", "pod/good", "--timeout=180s")
	c.mustKubectl(append([]string{"delete", "pod", "good", "--wait=false"}, names...)...)
}

// checkReported checks that the error of a pod is visible.
func (w *invalidPod) checkReported(p *corev1.Pod, events []corev1.Event) error {
	var reports []string
	matches := func(where, reason, message string) bool {
		reports = append(reports, fmt.Sprintf("%s %s: %s", where, reason, message))
		if where != w.where && w.where != "any" || !strings.Contains(" "+w.reasons+" ", " "+reason+" ") {
			return false
		}
		for _, words := range w.words {
			if !strings.Contains(message, words) {
				return false
			}
		}
		return true
	}
	found := p.Status.Phase == corev1.PodFailed && matches("failed", p.Status.Reason, p.Status.Message)
	for _, c := range p.Status.ContainerStatuses {
		if s := c.State.Waiting; s != nil {
			found = matches("waiting", s.Reason, s.Message) || found
		}
		if s := c.State.Terminated; s != nil {
			found = matches("terminated", s.Reason, s.Message) || found
		}
	}
	for _, x := range p.Status.Conditions {
		if x.Type == corev1.PodScheduled && x.Status == corev1.ConditionFalse {
			found = matches("unscheduled", x.Reason, x.Message) || found
		}
	}
	for _, e := range events {
		if e.InvolvedObject.Name == p.Name {
			found = matches("event", e.Reason, e.Message) || found
		}
	}
	if !found {
		return fmt.Errorf("pod %s: want %s %s with %q, got\n  %s", p.Name, w.where, w.reasons, w.words, strings.Join(reports, "\n  "))
	}
	return nil
}
