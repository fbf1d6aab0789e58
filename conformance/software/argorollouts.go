package main

// argoRollouts is installed with its manifest. Its controller replaces pods in steps.
var argoRollouts = software{
	name: "Argo-Rollouts", job: "a canary proceeds",
	module: "github.com/argoproj/argo-rollouts", version: "v1.8.0", sum: "h1:a427nBeVPMEdYnO9YpELV1mc4yhO9BLZLuTvq2QX8Ps=",
	programs: []program{{
		name: "argo-rollouts", pkg: "./cmd/rollouts-controller", image: "quay.io/argoproj/argo-rollouts:latest", pulled: true,
		path: "/bin/rollouts-controller", user: "999", workDir: "/home/argo-rollouts",
	}},
	images: []string{"registry.k8s.io/e2e-test-images/busybox:1", "registry.k8s.io/e2e-test-images/busybox:2"},
	setup: []step{
		kubectl("the namespace is created", "create namespace argo-rollouts"),
		kubectl("the manifest manifests/install.yaml is applied", "apply --server-side -n argo-rollouts -f {source}/manifests/install.yaml"),
		kubectl("the controller is available", "-n argo-rollouts rollout status deployment/argo-rollouts --timeout=300s"),
	},
	checks: []step{
		kubectl("all CustomResourceDefinitions are established", "wait --for=condition=Established crd --all --timeout=60s").
			prints(`rollouts\.argoproj\.io condition met`),
		apply("a rollout of 4 replicas with a canary of 25 %, a pause and an analysis is created", rolloutManifest),
		kubectl("all replicas are available", "get rollout web -o jsonpath={.status.phase},{.status.availableReplicas}").prints("^Healthy,4$"),
		rolloutPatch("the image is changed", "", `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.k8s.io/e2e-test-images/busybox:2","command":["sleep","3600"]}]}}}}`),
		kubectl("one replica is updated, and the rollout pauses", "get rollout web -o jsonpath={.status.phase},{.status.currentStepIndex},{.status.updatedReplicas}").
			prints("^Paused,1,1$"),
		kubectl("one pod has the new image", "get pods -l app=web --field-selector=status.phase=Running -o jsonpath={.items[*].spec.containers[0].image}").
			prints(`^(\S+:1 )*\S+:2( \S+:1)*$`),
		rolloutPatch("the pause ends", "status", `{"status":{"pauseConditions":null}}`),
		kubectl("the analysis runs a job, which succeeds", "get analysisruns -o jsonpath={.items[*].status.phase}").prints("^Successful$"),
		kubectl("all replicas are updated", "get rollout web -o jsonpath={.status.phase},{.status.updatedReplicas},{.status.availableReplicas}").prints("^Healthy,4,4$"),
		kubectl("all running pods have the new image", "get pods -l app=web --field-selector=status.phase=Running -o jsonpath={.items[*].spec.containers[0].image}").
			prints(`^(\S+:2 ){3}\S+:2$`),
		kubectl("the scale subresource reports the replicas", "get --raw /apis/argoproj.io/v1alpha1/namespaces/default/rollouts/web/scale").prints(`"replicas":4,"selector":"app=web"`),
		kubectl("kubectl scale changes the replicas", "scale rollout web --replicas=2"),
		kubectl("two replicas remain", "get rollout web -o jsonpath={.status.phase},{.status.replicas},{.status.availableReplicas}").prints("^Healthy,2,2$"),
		kubectl("the rollout is deleted with its objects", "delete rollout web --cascade=foreground --timeout=100s"),
		kubectl("no pod remains", "get replicasets,pods,analysisruns").prints("No resources found"),
		kubectl("everything is uninstalled", "delete -n argo-rollouts -f {source}/manifests/install.yaml --timeout=100s"),
		kubectl("the namespace is deleted", "delete namespace argo-rollouts --timeout=100s"),
	},
}

// rolloutPatch returns a step that patches the rollout or a subresource of it.
func rolloutPatch(does, subresource, patch string) step {
	args := []string{"patch", "rollout", "web", "--type=merge", "-p", patch}
	if subresource != "" {
		args = append(args, "--subresource="+subresource)
	}
	return step{does: does, args: args}
}

const rolloutManifest = `
apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: smoke, namespace: default}
spec:
  metrics:
  - name: smoke
    provider:
      job:
        spec:
          backoffLimit: 0
          template:
            spec:
              restartPolicy: Never
              containers: [{name: main, image: "registry.k8s.io/e2e-test-images/busybox:1", command: ["true"]}]
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: "registry.k8s.io/e2e-test-images/busybox:1", command: [sleep, "3600"]}]
  strategy:
    canary:
      steps:
      - setWeight: 25
      - pause: {}
      - analysis: {templates: [{templateName: smoke}]}
`
