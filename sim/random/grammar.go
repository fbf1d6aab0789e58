package random

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// rules are the grammar of the lines of a scenario. {a|b|3*c} is one of the alternatives, c three times as often; {1..5}
// is a number; {name} is a rule or a word of generator.evaluate.
var rules = map[string]string{
	"event":  `{42*{newpod}|12*{delete}|8*{displacement}|18*{choosenode}{nodeevent}|8*{podevent}|12*{fault}}`,
	"delete": `delete pod {pod}{ grace={0..4}s|2*}`,
	"displacement": `{drain {node}|taint {node} out=x:NoExecute|untaint {node} out` +
		`|condition {node} {2*Ready|DiskPressure|MemoryPressure}={True|False}|tolerate {pod} out:NoExecute:{0..59}|3*evict {pod}}`,
	"nodeevent": `{{newnode}|{delete node {it}|2*uncordon {it}}|cordon {it}|2*uncordon {it}|taint {it} dedicated=x:{effect}|untaint {it} dedicated` +
		`|label node {it} {disk=ssd|disk=hdd|zone=a|zone=b}|resize {it} cpu={1..5} memory={1..8}Gi|{2*start|kill} agent {it}}`,
	"effect": `{NoSchedule|PreferNoSchedule}`,
	"podevent": `{ungate {pod}|label pod {pod} app={a|b|c}|bind {pod} {node}|delete budget b{0..1}|budget b{0..1} {budget}` +
		`|{image e{0..1} v{0..3}|2*scale {w|e}{0..1} {0..5}}|{newworkload}}`,
	"fault": `{kill scheduler for {0..2999}ms|drop scheduler {2*pods|nodes|poddisruptionbudgets} for {0..4999}ms` +
		`|drop {agents|disruption|owners|taints|nodelifecycle|podgc|records|workload} pods for {0..4999}ms|repeat scheduler {pods|nodes}|kill {2*disruption|taints|nodelifecycle|podgc|records|workload} for {0..2999}ms` +
		`|lag {scheduler|agents|disruption|taints|nodelifecycle|podgc|records|workload} {0..999}ms|2*fault {refuse|conflict|requestlost|responselost|delayed|unanswered|partial} {request}}`,
	"request":   `{2*bind|preempt|unschedulable|refresh|clearnomination|bindvolumes|any|evict|disruptiontarget|event|delete|status|node}`,
	"budget":    `match=app={a|b} {minAvailable=1|minAvailable=2|maxUnavailable=1|maxUnavailable=0|minAvailable=50%}{2*| always}`,
	"nodewords": ` cpu={1..4} memory={1..8}Gi pods={2..9} labels=zone={a|b|c},disk={ssd|hdd}{ taints=dedicated=x:{effect}|5*}`,
	// The requests of most pods are in the order of a node's capacity, so that pods compete.
	"podwords": ` priority={2*0|5|10|100} labels=app={a|b|c}`,
	"small":    ` cpu={50..449}m memory={64..663}Mi`,
	"large":    ` cpu={1..20}00m memory={128..2627}Mi`,
	"placement": `{ selector=disk={ssd|hdd}| tolerate=dedicated| spread={zone|host}:{1..2}:app={a|b}| spread=zone:1:soft:app={a|b}` +
		`| anti={zone|host}:app={a|b|c}| affinity={zone|host}:app={a|b}| prefer-anti=host:app={a|b}| ports=800{0..2}| never| gates=g| claims=c{0..2}|5*}`,
	"lifecycle": `{ runs={100..60099}ms restart={Never|OnFailure|Always} exit={0..1}|2*}{ grace={0..39}s stops={0..49999}ms|2*}` +
		`{ replace owner={x|y}|4*{ owner={x|y}|2*}}`,
	"replicaset":    `replicaset w{0..1} replicas={1..4}`,
	"otherworkload": `{2*daemonset d0|statefulset s{0..1} replicas={1..3}|deployment e{0..1} replicas={1..4}|4*}`,
	"workloadwords": ` cpu={50..649}m memory={64..663}Mi priority={0|5|10} labels=app={a|b} grace={0..19}s stops={0..19999}ms{2*| starts=3s| tolerate=out:NoExecute:20}`,
	"options":       `faults={2*0|0.05|0.3} delays={0|0.1|0.5} repeats={0|0.1} maxdelay={100ms|2s} lag={1ms|5ms|300ms} victims=90s decisions={3*1|64} settled`,
}

// expand replaces each {...} in a text.
func (g *generator) expand(text string) string {
	before, rest, found := strings.Cut(text, "{")
	if !found {
		return text
	}
	choices, rest := splitChoices(rest)
	if len(choices) == 1 {
		return before + g.evaluate(choices[0]) + g.expand(rest)
	}
	var weighted []string
	for _, c := range choices {
		n := 1
		if weight, choice, ok := strings.Cut(c, "*"); ok {
			if k, err := strconv.Atoi(weight); err == nil {
				n, c = k, choice
			}
		}
		weighted = append(weighted, slices.Repeat([]string{c}, n)...)
	}
	return before + g.expand(weighted[g.r.Intn(len(weighted))]) + g.expand(rest)
}

// splitChoices splits the text after an opening brace into its alternatives and the text after the closing brace.
func splitChoices(text string) (choices []string, rest string) {
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case depth == 0 && (c == '|' || c == '}'):
			choices = append(choices, text[start:i])
			if start = i + 1; c == '}' {
				return choices, text[start:]
			}
		}
	}
	panic("no closing brace after {" + text)
}

// evaluate returns the value of {name}.
func (g *generator) evaluate(name string) string {
	if first, last, isRange := strings.Cut(name, ".."); isRange {
		low, _ := strconv.Atoi(first)
		high, _ := strconv.Atoi(last)
		return strconv.Itoa(low + g.r.Intn(high-low+1))
	}
	switch name {
	case "pod": // preferably a recent one
		if g.pods == 0 {
			return "p0"
		}
		return fmt.Sprintf("p%d", max(0, g.pods-1-g.r.Intn(min(g.pods, 20))))
	case "node":
		return fmt.Sprintf("n%d", g.r.Intn(g.nodes))
	case "choosenode":
		g.it = g.evaluate("node")
		return ""
	case "it": // the chosen node
		return g.it
	case "newnode":
		g.nodes++
		return fmt.Sprintf("node n%d", g.nodes-1) + g.expand(rules["nodewords"])
	case "newpod":
		return g.newPod()
	case "newworkload":
		return g.newWorkload()
	}
	return g.expand(rules[name])
}
