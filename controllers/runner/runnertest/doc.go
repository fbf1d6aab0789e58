// Package runnertest has a process for tests of single functions of controllers.
package runnertest
