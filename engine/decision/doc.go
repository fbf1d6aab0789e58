// Package decision holds the records of a scheduling decision: outcome, verdicts, scores
// and the revision of the state they refer to.
//
// Nothing here is formatted. A rejection is a plugin, a code and numbers. Package explain
// turns them into text; Reason.String is the exception and returns the text of
// kube-scheduler.
//
// There are two levels of detail. Every decision has a Summary: the selected node and a
// histogram of reasons, at a cost independent of cluster size. A Record holds the verdict
// and the scores of every node. The reference evaluator (placement.Evaluate) creates it on
// request.
package decision
