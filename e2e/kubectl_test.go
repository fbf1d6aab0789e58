package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestKubectl checks common kubectl commands against `berth up`.
func TestKubectl(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.up("--nodes", "2")
	c.mustKubectl("run", "web", "--image", "web:1", "-l", "app=web", "--port", "80")
	c.mustKubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=180s")
	for name, test := range map[string]func(*testing.T, *cluster){
		"get": kubectlGet, "describe": kubectlDescribe, "apply": kubectlApply, "server-side apply": kubectlServerSide, "diff": kubectlDiff,
		"patch": kubectlPatch, "label and annotate": kubectlLabel, "taint and cordon": kubectlTaint, "scale": kubectlScale, "rollout": kubectlRollout, "cascade": kubectlCascade,
		"explain and discovery": kubectlExplain, "auth": kubectlAuth, "top": kubectlTop, "autoscale": kubectlAutoscale, "component statuses": kubectlComponentStatuses, "plugin": kubectlPlugin, "prune": kubectlPrune, "certificate": kubectlCertificate, "errors": kubectlErrors, "delete": kubectlDelete,
	} {
		t.Run(name, func(t *testing.T) { test(t, &cluster{testHome{t, c.dir}, c.proc, c.kubeconfig}) })
	}
}

// expectContains checks that a text contains words, ignoring line breaks.
func expectContains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) && !strings.Contains(strings.Join(strings.Fields(text), " "), w) {
			t.Errorf("got %s, want text with %q", text, w)
		}
	}
}

// expectColumns checks the header of a table.
func expectColumns(t *testing.T, table, want string) {
	t.Helper()
	head, _, _ := strings.Cut(table, "\n")
	if got := strings.Join(strings.Fields(head), " "); got != want {
		t.Errorf("got columns %q, want %q", got, want)
	}
}

func kubectlGet(t *testing.T, c *cluster) {
	expectColumns(t, c.mustKubectl("get", "pods"), "NAME READY STATUS RESTARTS AGE")
	expectColumns(t, c.mustKubectl("get", "pods", "-A", "-o", "wide"), "NAMESPACE NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES")
	expectColumns(t, c.mustKubectl("get", "nodes"), "NAME STATUS ROLES AGE VERSION")
	expectColumns(t, c.mustKubectl("get", "nodes", "-o", "wide"), "NAME STATUS ROLES AGE VERSION INTERNAL-IP EXTERNAL-IP OS-IMAGE KERNEL-VERSION CONTAINER-RUNTIME")
	expectColumns(t, c.mustKubectl("get", "svc"), "NAME TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE")
	expectColumns(t, c.mustKubectl("get", "events"), "LAST SEEN TYPE REASON OBJECT MESSAGE")
	expectColumns(t, c.mustKubectl("get", "ns"), "NAME STATUS AGE")
	expectColumns(t, c.mustKubectl("get", "leases", "-n", "kube-node-lease"), "NAME HOLDER AGE")
	expectContains(t, c.mustKubectl("get", "pod", "web", "-o", "yaml"), "kind: Pod", "nodeName: n", "phase: Running")
	expectContains(t, c.mustKubectl("get", "pod", "web", "-o", "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}"), "True")
	expectContains(t, c.mustKubectl("get", "pods", "-l", "app=web", "-o", "name"), "pod/web")
	expectContains(t, c.mustKubectl("get", "pods", "--field-selector", "status.phase=Running", "-o", "custom-columns=N:.metadata.name"), "web")
	if r := c.kubectl("get", "pods", "-l", "app=none"); r.code != 0 || !strings.Contains(r.stderr, "No resources found") {
		t.Errorf("get with a selector that matches no pod: got %s, want \"No resources found\"", r)
	}
	// kubectl get prints every kind that can be listed.
	all := strings.Fields(c.mustKubectl("api-resources", "--verbs=list", "-o", "name"))
	if len(all) < 35 {
		t.Errorf("got %d kinds that can be listed, want at least 35: %v", len(all), all)
	}
	expectContains(t, c.mustKubectl("get", strings.Join(all, ","), "-A"), "pod/web", "node/n1", "clusterrole.rbac.authorization.k8s.io/cluster-admin", "service/kubernetes", "priorityclass.scheduling.k8s.io/system-node-critical")
}

func kubectlDescribe(t *testing.T, c *cluster) {
	expectContains(t, c.mustKubectl("describe", "pod", "web"), "Name:             web", "Node:             n", "Status:           Running", "Image:          web:1", "QoS Class:", "default-scheduler  Successfully assigned default/web to n")
	expectContains(t, c.mustKubectl("describe", "nodes"), "Allocatable:", "Conditions:", "kubelet is posting ready status", "Non-terminated Pods:", "Allocated resources:", "HolderIdentity:  n1")
	expectContains(t, c.mustKubectl("describe", "ns", "default"), "Status:       Active")
	expectContains(t, c.mustKubectl("describe", "clusterrole", "view"), "PolicyRule:", "get list watch")
}

func deployment(name string, replicas int, image string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s}\nspec:\n  replicas: %d\n  selector: {matchLabels: {app: %s}}\n"+
		"  template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: main, image: %q}]}}\n", name, replicas, name, name, image)
}

func kubectlApply(t *testing.T, c *cluster) {
	file := c.write("apply.yaml", deployment("site", 1, "site:1"))
	r := c.kubectl("apply", "-f", file)
	expectContains(t, r.stdout, "deployment.apps/site created")
	if r.stderr != "" {
		t.Errorf("apply of a valid Deployment: got stderr %q, want none", r.stderr)
	}
	expectContains(t, c.mustKubectl("apply", "-f", file), "unchanged")
	c.write("apply.yaml", deployment("site", 2, "site:2"))
	expectContains(t, c.mustKubectl("apply", "-f", file, "--dry-run=server"), "configured (server dry run)")
	expectContains(t, c.mustKubectl("apply", "-f", file), "configured")
	var d appsv1.Deployment
	c.json(&d, "get", "deployment", "site")
	if *d.Spec.Replicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "site:2" || d.Generation != 2 {
		t.Errorf("after apply: got %d replicas of %s, generation %d, want 2 of site:2, generation 2", *d.Spec.Replicas, d.Spec.Template.Spec.Containers[0].Image, d.Generation)
	}
	if r := c.kubectl("apply", "-f", c.write("bad.yaml", strings.Replace(deployment("site", 2, "site:2"), "replicas", "replica", 1))); r.code != 1 || !strings.Contains(r.stderr, `unknown field "spec.replica"`) {
		t.Errorf("apply of an unknown field: got %s, want exit code 1 and an error that names spec.replica", r)
	}
	c.mustKubectl("rollout", "status", "deployment/site") // a status update in between would be a conflict
	expectContains(t, c.mustKubectl("replace", "-f", c.write("replace.yaml", deployment("site", 4, "site:2"))), "replaced")
	expectContains(t, c.mustKubectl("delete", "-f", file), "deleted")
}

func kubectlServerSide(t *testing.T, c *cluster) {
	file := c.write("ssa.yaml", deployment("shared", 1, "a:1"))
	expectContains(t, c.mustKubectl("apply", "--server-side", "--field-manager=one", "-f", file), "serverside-applied")
	other := c.write("other.yaml", deployment("shared", 5, "a:1"))
	r := c.kubectl("apply", "--server-side", "--field-manager=two", "-f", other)
	if r.code != 1 {
		t.Errorf("apply with a conflict: got %s, want exit code 1", r)
	}
	expectContains(t, r.stderr, `conflict with "one"`, ".spec.replicas", "--force-conflicts")
	expectContains(t, c.mustKubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", other), "serverside-applied")
	expectContains(t, c.mustKubectl("get", "deployment", "shared", "--show-managed-fields", "-o", "yaml"), "manager: two", "operation: Apply")
	c.mustKubectl("delete", "deployment", "shared")
}

func kubectlDiff(t *testing.T, c *cluster) {
	// git exists on every build machine; diff may not.
	program := c.write("diff.sh", "#!/bin/sh\nexec git diff --no-index \"$@\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	diff := func(file string) result {
		return c.testHome.runWith([]string{"KUBECTL_EXTERNAL_DIFF=" + program}, "kubectl", "--kubeconfig", c.kubeconfig, "diff", "-f", file)
	}
	file := c.write("diff.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: differs}\ndata: {a: old}\n")
	c.mustKubectl("apply", "-f", file)
	if r := diff(file); r.code != 0 || r.stdout != "" {
		t.Errorf("diff without changes: got %s, want exit code 0 without output", r)
	}
	c.write("diff.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: differs}\ndata: {a: new}\n")
	r := diff(file)
	if r.code != 1 {
		t.Errorf("diff with changes: got %s, want exit code 1", r)
	}
	expectContains(t, r.stdout, "-  a: old", "+  a: new")
}

func kubectlPatch(t *testing.T, c *cluster) {
	c.mustKubectl("run", "patched", "--image", "x:1")
	for kind, patch := range map[string]string{
		"json": `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`, "merge": `{"metadata":{"labels":{"merge":"1"}}}`,
		"strategic": `{"spec":{"containers":[{"name":"patched","image":"x:2"}]}}`,
	} {
		expectContains(t, c.mustKubectl("patch", "pod", "patched", "--type="+kind, "-p", patch), "pod/patched patched")
	}
	var p corev1.Pod
	c.json(&p, "get", "pod", "patched")
	if p.Labels["json"] != "1" || p.Labels["merge"] != "1" || len(p.Spec.Containers) != 1 || p.Spec.Containers[0].Image != "x:2" {
		t.Errorf("after three patches: got labels %v and containers %v, want labels json and merge and image x:2", p.Labels, p.Spec.Containers)
	}
	if r := c.kubectl("patch", "node", "n1", "--subresource=status", "--type=merge", "-p", `{"status":{"capacity":{"example.com/boat":"3"}}}`); r.code != 0 {
		t.Errorf("patch of a node status: got %s, want exit code 0", r)
	}
	expectContains(t, c.mustKubectl("get", "node", "n1", "-o", "jsonpath={.status.capacity}"), `"example.com/boat":"3"`)
}

func kubectlLabel(t *testing.T, c *cluster) {
	expectContains(t, c.mustKubectl("label", "node", "n1", "disk=ssd"), "labeled")
	if r := c.kubectl("label", "node", "n1", "disk=hdd"); r.code != 1 || !strings.Contains(r.stderr, "--overwrite is false") {
		t.Errorf("label that exists: got %s, want exit code 1 and \"--overwrite is false\"", r)
	}
	c.mustKubectl("label", "node", "n1", "disk=hdd", "--overwrite")
	expectContains(t, c.mustKubectl("get", "nodes", "-L", "disk"), "DISK", "hdd")
	c.mustKubectl("label", "node", "n1", "disk-")
	expectContains(t, c.mustKubectl("annotate", "node", "n1", "note=seen"), "annotated")
}

func kubectlTaint(t *testing.T, c *cluster) {
	expectContains(t, c.mustKubectl("taint", "nodes", "--all", "closed=yes:NoSchedule"), "node/n1 tainted", "node/n2 tainted")
	c.mustKubectl("run", "untolerant", "--image", "x:1")
	c.mustKubectl("wait", "--for=condition=PodScheduled=false", "pod/untolerant", "--timeout=180s")
	expectContains(t, c.mustKubectl("get", "pod", "untolerant", "-o", "jsonpath={.status.conditions}"), "0/2 nodes are available: 2 node(s) had untolerated taint(s)")
	expectContains(t, c.mustKubectl("get", "events", "--field-selector", "reason=FailedScheduling"), "pod/untolerant", "0/2 nodes are available")
	c.mustKubectl("cordon", "n2")
	expectContains(t, c.mustKubectl("get", "nodes"), "Ready,SchedulingDisabled")
	c.mustKubectl("taint", "nodes", "--all", "closed-")
	c.mustKubectl("wait", "--for=condition=Ready", "pod/untolerant", "--timeout=180s")
	expectContains(t, c.mustKubectl("get", "pod", "untolerant", "-o", "wide"), "n1")
	expectContains(t, c.mustKubectl("uncordon", "n2"), "uncordoned")
	eventually(t, eventTimeout, func() error {
		if taints := c.mustKubectl("get", "node", "n2", "-o", "jsonpath={.spec.taints}"); taints != "" {
			return fmt.Errorf("n2 has taints %s, want none", taints)
		}
		return nil
	})
}

func kubectlScale(t *testing.T, c *cluster) {
	c.mustKubectl("create", "deployment", "scaled", "--image", "x:1")
	expectContains(t, c.mustKubectl("scale", "deployment", "scaled", "--replicas=3"), "scaled")
	expectContains(t, c.mustKubectl("get", "deployment", "scaled", "-o", "jsonpath={.spec.replicas}"), "3")
	if r := c.kubectl("scale", "deployment", "scaled", "--current-replicas=7", "--replicas=1"); r.code != 1 || !strings.Contains(r.stderr, "3") {
		t.Errorf("scale from 7 replicas: got %s, want exit code 1 and an error that names 3 replicas", r)
	}
	c.mustKubectl("wait", "--for=jsonpath={.spec.replicas}=3", "deployment/scaled", "--timeout=10s")
	c.mustKubectl("rollout", "status", "deployment/scaled", "--timeout=180s")
	if r := c.kubectl("wait", "--for=condition=ReplicaFailure", "deployment/scaled", "--timeout=0"); r.code != 1 {
		t.Errorf("wait for a condition that is not true: got %s, want exit code 1", r)
	}
}

func kubectlExplain(t *testing.T, c *cluster) {
	expectContains(t, c.mustKubectl("explain", "pod.spec.topologySpreadConstraints.maxSkew"), "KIND:       Pod", "FIELD: maxSkew <integer>", "unevenly")
	expectContains(t, c.mustKubectl("explain", "deployments", "--recursive"), "GROUP:      apps", "progressDeadlineSeconds")
	expectContains(t, c.mustKubectl("version"), "Client Version: v1.37", "Server Version: v1.37")
	expectContains(t, c.mustKubectl("version", "-o", "json"), `"minor": "37"`, `"kustomizeVersion": "v5.`)
	if r := c.testHome.run("kubectl", "version", "--client"); r.code != 0 || !strings.Contains(r.stdout, "Client Version: v1.37") {
		t.Errorf("version without a cluster: got %s, want client version v1.37", r)
	}
	expectContains(t, c.mustKubectl("api-versions"), "apps/v1", "v1", "rbac.authorization.k8s.io/v1")
	expectContains(t, c.mustKubectl("cluster-info"), "is running at", "https://127.0.0.1")
	expectContains(t, c.mustKubectl("get", "--raw", "/openapi/v2"), `"swagger":"2.0"`)
	expectContains(t, c.mustKubectl("get", "--raw", "/readyz?verbose"), "readyz check passed")
}

func kubectlAuth(t *testing.T, c *cluster) {
	expectContains(t, c.mustKubectl("auth", "can-i", "create", "pods"), "yes")
	if r := c.kubectl("auth", "can-i", "create", "pods", "--as", "someone"); r.code != 1 || !strings.HasPrefix(r.stdout, "no") {
		t.Errorf("auth can-i without permission: got %s, want exit code 1 and no", r)
	}
	c.mustKubectl("create", "rolebinding", "someone", "--clusterrole=edit", "--user=someone")
	eventually(t, eventTimeout, func() error {
		if r := c.kubectl("auth", "can-i", "create", "pods", "--as", "someone"); r.code != 0 {
			return fmt.Errorf("auth can-i with a role binding: got %s, want exit code 0", r)
		}
		return nil
	})
	expectContains(t, c.mustKubectl("auth", "can-i", "--list", "--as", "someone"), "pods", "[create")
	expectContains(t, c.mustKubectl("auth", "whoami"), "kubernetes-admin", "system:masters")
	token := strings.TrimSpace(c.mustKubectl("create", "token", "default"))
	if strings.Count(token, ".") != 2 {
		t.Errorf("create token: got %q, want a token with three parts", token)
	}
	r := c.testHome.run("kubectl", "--kubeconfig", c.write("token.kubeconfig", strings.NewReplacer("https://127.0.0.1:1", c.config().Host, "token: t", "token: "+token,
		"{server:", "{insecure-skip-tls-verify: true, server:").Replace(fakeKubeconfig)), "auth", "whoami")
	if r.code != 0 {
		t.Errorf("whoami with a token: got %s, want exit code 0", r)
	}
	expectContains(t, r.stdout, "system:serviceaccount:default:default")
}

// kubectlTop checks that the usage of a simulated pod is the memory of its annotation and the CPU
// that it requests.
func kubectlTop(t *testing.T, c *cluster) {
	c.mustKubectl("run", "greedy", "--image", "x:1", "--overrides", `{"metadata":{"annotations":{"sim.berth.dev/usage":"memory=64Mi"}},
		"spec":{"containers":[{"name":"greedy","image":"x:1","resources":{"requests":{"cpu":"250m"}}}]}}`)
	c.mustKubectl("wait", "--for=condition=Ready", "pod/greedy", "--timeout=180s")
	eventually(t, eventTimeout, func() error {
		if r := c.kubectl("top", "pod", "greedy", "--containers", "--no-headers"); strings.Join(strings.Fields(r.stdout), " ") != "greedy greedy 250m 64Mi" {
			return fmt.Errorf("top pod: got %s, want 250m and 64Mi", r)
		}
		return nil
	})
	expectContains(t, c.mustKubectl("top", "nodes"), "MEMORY(bytes)", "n1", "n2")
	expectContains(t, c.mustKubectl("get", "pods.metrics.k8s.io", "greedy"), "WINDOW", "250m")
	if r := c.kubectl("logs", "greedy"); r.code != 1 || !strings.Contains(r.stderr, `is simulated: it has no logs`) {
		t.Errorf("logs of a simulated pod: got %s, want exit code 1 and \"is simulated: it has no logs\"", r)
	}
	c.mustKubectl("delete", "pod", "greedy")
}

// kubectlErrors checks that commands for missing objects and unsupported commands exit with code 1 and an
// error.
func kubectlErrors(t *testing.T, c *cluster) {
	for _, args := range [][]string{{"logs", "web"}, {"exec", "web", "--", "ls"}, {"get", "unknownkinds"}, {"get", "pod", "missing"}, {"unknown"}} {
		r := c.kubectl(args...)
		if r.code != 1 || r.stdout != "" || !strings.HasPrefix(strings.ToLower(r.stderr), "error") {
			t.Errorf("kubectl %v: got %s, want exit code 1 and an error", args, r)
		}
	}
}

func kubectlDelete(t *testing.T, c *cluster) {
	for i := range 3 {
		c.mustKubectl("run", fmt.Sprintf("deleted-%d", i), "--image", "x:1", "-l", "group=deleted")
	}
	expectContains(t, c.mustKubectl("delete", "pods", "-l", "group=deleted", "--timeout=180s"), `"deleted-2" deleted`)
	if remaining := c.mustKubectl("get", "pods", "-l", "group=deleted", "-o", "name"); remaining != "" {
		t.Errorf("got pods %s after their deletion, want none", remaining)
	}
	expectContains(t, c.mustKubectl("delete", "pod", "deleted-0", "--ignore-not-found"), "")
	c.mustKubectl("run", "forced", "--image", "x:1")
	expectContains(t, c.mustKubectl("delete", "pod", "forced", "--force", "--grace-period=0"), "force deleted")
}
