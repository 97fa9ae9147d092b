// Package barrier decides whether all participants of a phase are done with it. It knows neither services nor time: the
// caller says who takes part, how far each participant is, and which of them can never be done.
//
// The shape is that of a vote in etcd's raft (quorum.VoteResult): a verdict of three values over what is known so far.
// More knowledge only ever moves the verdict forward.
package barrier
