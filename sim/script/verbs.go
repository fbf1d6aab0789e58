package script

import (
	"maps"
	"slices"
	"strings"

	"github.com/berthproject/berth/sim/cluster"
)

// verb is the first word of a line.
type verb struct {
	usage string
	read  func(*parser, *tokens)
}

// verbs are the verbs by name. They are set in init because their readers use the list in
// error messages.
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		"node":          {"node NAME [cpu=4] [memory=8Gi] [pods=110] [storage=..] [res=nvidia.com/gpu=8] [labels=a=b,..] [taints=k=v:NoSchedule,..] [unschedulable] [joining] [allocatable=7Gi] [usage=memory=1Gi] [capacity=imagefs=50Gi]", readNode},
		"pod":           {"pod NAME [cpu=] [memory=] [priority=] [labels=] ... (see docs/guides/simulate.md)", readPod},
		"deployment":    {"deployment NAME replicas=N [options of a pod line]", readDeployment},
		"image":         {"image DEPLOYMENT NAME (starts a rollout)", readImage},
		"replicaset":    {"replicaset NAME replicas=N [options of a pod line]", readReplicaSet},
		"statefulset":   {"statefulset NAME replicas=N [parallel] [options of a pod line]", readStatefulSet},
		"daemonset":     {"daemonset NAME [options of a pod line]", readDaemonSet},
		"scale":         {"scale DEPLOYMENT|REPLICASET N", readScale},
		"budget":        {"budget NAME match=a=b minAvailable=N|P% or maxUnavailable=N|P% [always] [ns=]", readBudget},
		"descheduler":   {"descheduler [policy=FILE] [compatible] [ignoreholds] [others=NAME] [first=1m] [every=2m] (policy: file next to the scenario; ignoreholds: the scheduler ignores Holds; others: the scheduler NAME ignores Holds)", readDescheduler},
		"priorityclass": {"priorityclass NAME value=N [never] [default]", readPriorityClass},
		"namespace":     {"namespace NAME [labels=a=b]", readNamespace},
		"service":       {"service NAME match=a=b [ns=]", readService},
		"class":         {"class NAME provisioner=NAME [wait]", readClass},
		"volume":        {"volume NAME size=10Gi class=NAME [node=NAME]", readVolume},
		"claim":         {"claim NAME size=10Gi class=NAME [ns=]", readClaim},
		"load":          {"load FILE (YAML or JSON of Kubernetes objects, next to the scenario)", readLoad},
		"delete":        {"delete KIND NAME [grace=30s]; KIND: node pod budget priorityclass namespace service class volume claim deployment replicaset statefulset daemonset", readDelete},
		"taint":         {"taint NODE KEY[=VALUE]:EFFECT", readTaint},
		"untaint":       {"untaint NODE KEY", readUntaint},
		"cordon":        {"cordon NODE", readCordon},
		"uncordon":      {"uncordon NODE", readUncordon},
		"label":         {"label node|pod|namespace NAME KEY=VALUE,..", readLabel},
		"resize":        {"resize NODE [cpu=] [memory=] [pods=]", readResize},
		"ungate":        {"ungate POD", readUngate},
		"evict":         {"evict POD [by=NAME] [grace=30s] [uid=] [dry] (one request; the response is in the timeline)", readEvict},
		"drain":         {"drain NODE [by=NAME] (as kubectl drain does) or drain NODE berth [surge] [timeout=1h] (as berth drain does)", readDrain},
		"pressure":      {"pressure POD memory|ephemeral-storage|pids (its node evicts it)", readPressure},
		"tolerate":      {"tolerate POD KEY[=VALUE][:EFFECT[:SECONDS]],.. (replaces its tolerations)", readTolerate},
		"status":        {"status BUDGET [allowed=N] [entries=N] [stale] (as a faulty disruption controller would write it)", readStatus},
		"condition":     {"condition NODE Ready=False (or MemoryPressure= DiskPressure= PIDPressure= NetworkUnavailable=; reported by its agent)", readCondition},
		"bind":          {"bind POD NODE (as another scheduler would)", readBind},
		"kill":          {"kill ACTOR [for 1s] or kill agent NODE; ACTOR: " + actorList(), readKill},
		"start":         {"start agent NODE", readStart},
		"partition":     {"partition NODE (its agent and pods keep running, but it is disconnected from the API)", readPartition},
		"reconnect":     {"reconnect NODE (ends a partition)", readReconnect},
		"lag":           {"lag ACTOR DURATION", readLag},
		"drop":          {"drop ACTOR KIND for DURATION; KIND is a plural such as pods", readDrop},
		"repeat":        {"repeat ACTOR KIND (delivers the next change twice)", readRepeat},
		"fault":         {"fault refuse|conflict|requestlost|responselost|delayed|unanswered|partial REQUEST|any [pod=NAME] [times=1] [after=N]", readFault},
		"clear":         {"clear (ends all faults)", readClear},
		"move":          {"move POD NODE (not possible in an API server; makes an invariant fail)", readMove},
		"option":        {"option [seed=] [ties=] [faults=0.1] [delays=0.1] [repeats=0.1] [maxdelay=1s] [lag=2ms] [latency=1ms] [leftover=5m] [backoff=1s] [maxbackoff=10s] [victims=10m] [decisions=64] [several=refuse] [norecount] [noaudit] [keepdebits] [frozen] [ended=N] [evictedcap=N] [evictedttl=1h] [noholds] [nopause] [nopressure] [resizepreemption] [forbid] [startupgrace=1m] [endpoints] [settled] [exact] [hard=memory.available<500Mi] [soft=] [softgrace=memory.available=30s] [minreclaim=] [transition=5m] [maxgrace=30] [reserve=256Mi] [compatible]", readOption},
		"until":         {"until DURATION", readUntil},
		"expect":        {expectUsage, readExpect},
	}
}

// deprecatedVerbs maps former names of verbs to the current ones.
var deprecatedVerbs = map[string]string{"press": "pressure", "spoil": "fault", "calm": "clear", "cut": "partition", "rejoin": "reconnect"}

// actorList lists the actors with watches.
func actorList() string { return strings.Join(cluster.Actors(), ", ") }

// verbList lists the verbs.
func verbList() string {
	return strings.Join(slices.Sorted(maps.Keys(verbs)), ", ")
}
