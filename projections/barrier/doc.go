// Package barrier decides whether all that go through a phase together are done with it. It knows neither services nor
// time: who takes part, how far each is, and what will never come is said to it.
//
// The shape is that of a vote in etcd's raft (quorum.VoteResult): a verdict of three values over what is known so far,
// which more knowledge only ever moves forward.
package barrier
