package chaos

// killScenarios are the scenarios of TestKillPoints, each with the actors that it must make send requests.
var killScenarios = map[string]struct {
	actors []string
	text   string
}{
	"rollout": {[]string{"workload", "disruption", "endpoints", "garbagecollector"}, `node n1..n3 cpu=8
service web match=app=web
budget web match=app=web maxUnavailable=1
deployment web replicas=2 cpu=1 labels=app=web starts=1s grace=5s stops=1s
at 10s image web v2
at 30s scale web 4
at 40s scale web 1
deployment old replicas=1 cpu=1 labels=app=old grace=5s stops=1s
at 20s delete deployment old
until 80s
expect running 1
expect service web ready=1
`},
	"workloads": {[]string{"workload"}, `node n1..n3 cpu=8
replicaset web replicas=5 cpu=1 grace=5s stops=1s
statefulset db replicas=3 cpu=1 starts=1s grace=5s stops=1s
daemonset logs cpu=1 grace=5s stops=1s
at 10s scale web 2
at 20s scale web 4
at 20s delete pod db-1
at 30s delete pod web-1
at 40s drain n1
until 80s
expect running 10
`},
	"drain": {[]string{"drain", evictionHandler, "records", "disruption", "workload"}, `node n1..n3 cpu=8
deployment web replicas=2 cpu=1 labels=app=web starts=2s grace=5s stops=1s
budget web match=app=web minAvailable=2
at 1m drain n1 berth surge
until 5m
expect event "berth drain ends: "
expect running 2
expect budget web healthy=2 allowed=0
`},
	"descheduling": {[]string{"descheduler", evictionHandler, "records", "workload"}, `descheduler policy=descheduling-low.yaml first=1m every=2m
node n1 cpu=10
deployment api replicas=7 cpu=1 labels=app=api starts=5s grace=5s stops=2s
budget api match=app=api maxUnavailable=2
at 30s node n2 cpu=10
until 12m
expect event "is evicted by descheduler"
expect running 7
expect holds 0
`},
	"preemption": {[]string{"scheduler", "records", "disruption", "workload"}, `node n1..n2 cpu=4
replicaset low replicas=4 cpu=2 labels=app=low grace=5s stops=1s
budget low match=app=low maxUnavailable=2
at 10s pod high1..high2 cpu=2 priority=100
at 1m delete pod high1
until 3m
expect event "is preempted by"
expect pod high2 running
expect running 4
`},
	"node loss": {[]string{"nodelifecycle", "taints", "podgc", "records", "disruption", "workload", "endpoints"}, `node n1..n3 cpu=8
service web match=app=web
budget web match=app=web maxUnavailable=1
deployment web replicas=3 cpu=1 labels=app=web grace=5s stops=1s tolerate=node.kubernetes.io/unreachable:NoExecute:10
at 1m kill agent n1
at 4m delete node n1
at 5m taint n2 out=now:NoExecute
until 7m
expect running 3
`},
	"volumes": {[]string{"scheduler", "volumes"}, `node n1..n2 cpu=4
class local wait
class made provisioner=example.org/disk wait
volume v1 size=10Gi class=local node=n2
claim data size=5Gi class=local
claim scratch size=1Gi class=made
pod static cpu=1 claims=data
pod dynamic cpu=1 claims=scratch
at 30s delete pod dynamic
at 31s delete claim scratch
until 1m
expect pod static on n2
`},
}
