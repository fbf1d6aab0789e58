// Package decision holds the records of what was decided and why: outcome,
// verdicts, numbers, the state they were made on.
//
// Nothing here is formatted. A rejection is a rule, a code and numbers; the
// words of kube-scheduler (Reason.String) and the longer words of berth explain
// are made when somebody reads them.
//
// Two depths of the same thing: Summary is what every decision leaves behind
// (the choice, a histogram of reasons), at a cost that does not grow with the
// cluster; Record is every node's verdict and scores, made on request by the
// plain path on the same state.
package decision
