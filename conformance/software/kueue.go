package main

import "strings"

// kueue is installed with its kustomization. Its manager holds jobs back until a queue has quota for them.
var kueue = software{
	name: "Kueue", job: "a queue admits a job",
	remark: "Its manifests register 39 webhooks, 19 mutating and 20 validating. Its kustomization does not apply its patches for 4 conversion webhooks of CustomResourceDefinitions.",
	module: "sigs.k8s.io/kueue", version: "v0.14.0", sum: "h1:lDR34L42/k17opLfkZbZ+taymLaPpryj3ZBbvKqs/N4=",
	programs: []program{{
		name: "kueue", pkg: "./cmd/kueue", image: "us-central1-docker.pkg.dev/k8s-staging-images/kueue/kueue:main", pulled: true,
		path: "/manager", user: "65532:65532", workDir: "/",
	}},
	images: []string{"registry.k8s.io/e2e-test-images/busybox:1.37.0-1"},
	suites: []string{"test/integration/singlecluster/webhook/core"},
	setup: []step{
		kubectl("the kustomization config/default is applied", "apply --server-side -k {source}/config/default"),
		kubectl("the manager is available", "-n kueue-system rollout status deployment/kueue-controller-manager --timeout=300s"),
	},
	checks: []step{
		kubectl("all CustomResourceDefinitions are established", "wait --for=condition=Established crd --all --timeout=60s").
			prints(`workloads\.kueue\.x-k8s\.io condition met`),
		kubectl("39 webhooks are registered", `get mutatingwebhookconfigurations,validatingwebhookconfigurations -o jsonpath={.items[*].webhooks[*].name}`).
			prints(`^(\S+ ){38}\S+$`),
		kubectl("its APIService is available", "wait --for=condition=Available apiservice/v1beta1.visibility.kueue.x-k8s.io --timeout=60s").prints("met"),
		apply("a flavor, a queue with a quota of 1 CPU and a local queue are created", kueueQueues),
		{does: "a webhook denies a change of a local queue's cluster queue", denied: true, want: "(?i)immutable",
			args: []string{"patch", "localqueue", "users", "--type=merge", "-p", `{"spec":{"clusterQueue":"other"}}`}},
		{does: "a job of 700m CPU is created", args: []string{"create", "-f", "-"}, input: kueueJob("first", "sleep 3600")},
		kubectl("the queue admits it, and its pod runs", "get pods -l job-name=first").prints("Running"),
		{does: "a second job of 700m CPU is created", args: []string{"create", "-f", "-"}, input: kueueJob("second", "true")},
		kubectl("the aggregated API lists the second job as pending", "get --raw /apis/visibility.kueue.x-k8s.io/v1beta1/clusterqueues/cluster/pendingworkloads").
			prints(`"name":"job-second-`),
		kubectl("the second job stays suspended", "get job second -o jsonpath={.spec.suspend}").prints("^true$"),
		kubectl("the first job is deleted", "delete job first"),
		kubectl("the queue admits the second job, which completes", "wait --for=condition=Complete job/second --timeout=60s").prints("met"),
		kubectl("its workload is finished", "get workloads -o jsonpath={.items[*].status.conditions[?(@.type=='Finished')].reason}").prints("^Succeeded$"),
		{does: "a job of low priority is created", args: []string{"create", "-f", "-"}, input: kueueJob("low", "sleep 3600")},
		kubectl("its pod runs", "get pods -l job-name=low").prints("Running"),
		apply("a priority class is created", "{apiVersion: kueue.x-k8s.io/v1beta1, kind: WorkloadPriorityClass, metadata: {name: high}, value: 1000}"),
		{does: "a job of high priority is created", args: []string{"create", "-f", "-"},
			input: strings.Replace(kueueJob("high", "sleep 5"), "queue-name: users", "queue-name: users, kueue.x-k8s.io/priority-class: high", 1)},
		kubectl("it preempts the job of low priority, which is suspended", "get job low -o jsonpath={.spec.suspend},{.status.active}").prints("^true,0?$"),
		kubectl("it completes", "wait --for=condition=Complete job/high --timeout=60s").prints("met"),
		kubectl("the job of low priority runs again", "get pods -l job-name=low --field-selector=status.phase=Running").prints("Running"),
		kubectl("kubectl get shows the columns of the definition", "get clusterqueues -o wide").prints(`(?s)COHORT +STRATEGY +PENDING WORKLOADS +ADMITTED WORKLOADS.*BestEffortFIFO +0 +1`),
		kubectl("kubectl explain shows the definition's documentation", "explain clusterqueue.spec.preemption.withinClusterQueue").prints("LowerPriority"),
		kubectl("the jobs, queues and the flavor are deleted", "delete job,localqueue,clusterqueue,resourceflavor,workloadpriorityclass --all --timeout=100s"),
		kubectl("everything is uninstalled", "delete -k {source}/config/default --timeout=100s"),
		kubectl("its namespace is deleted", "get namespace kueue-system").mustFail("NotFound"),
	},
}

const kueueQueues = `
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cluster}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: default, resources: [{name: cpu, nominalQuota: 1}]}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: users, namespace: default}
spec: {clusterQueue: cluster}
`

// kueueJob returns a job in the local queue. Its command is a line of a shell.
func kueueJob(name, command string) string {
	return `
apiVersion: batch/v1
kind: Job
metadata: {name: ` + name + `, namespace: default, labels: {kueue.x-k8s.io/queue-name: users}}
spec:
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: registry.k8s.io/e2e-test-images/busybox:1.37.0-1
        command: [sh, -c, "` + command + `"]
        resources: {requests: {cpu: 700m}}
`
}
