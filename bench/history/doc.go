// Command history measures the web page with the recording of a simulated day of OpenB. It measures the
// response times at points in time over the day, the size of the recording, and the memory of the page's
// server.
//
// It runs the berth command: `berth simulate --recording`, `berth replay`, `berth ui --journal`, and `berth up` for the
// permissions of the page's user. The data set is not part of the repository; BERTH_OPENB names its directory.
package main
