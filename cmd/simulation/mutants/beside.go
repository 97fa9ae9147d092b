package main

// test is one of a package.
type test struct{ pkg, name string }

// besidePlans lists, by the name of the bug, the tests that catch bugs without a kept plan, and bugs whose plan does not reach them any
// longer. A plan takes another course once the product decides in another way.
var besidePlans = map[string]test{
	"order-of-a-leader-that-does-not-know-a-round":  {"cmd/simulation/checker", "TestALeaderMayNotKnowARoundOfTheOneBefore"},
	"revision-without-room":                         {"coordinator", "TestTranscripts/update"},
	"misfits-without-successors":                    {"coordinator", "TestTranscripts/misfit_successor"},
	"service-made-again-taken-for-the-one-before":   {"coordinator", "TestTranscripts/made_again"},
	"forgotten-home-kept":                           {"coordinator", "TestTranscripts/forget"},
	"volumes-lost-in-healing":                       {"coordinator", "TestTranscripts/volumes_healed"},
	"take-over-while-another-leads-on":              {"coordinator/runner", "TestALogThatAnotherHasGoneOnWithIsNotARestoredOne"},
	"marks-of-a-later-leader":                       {"coordinator/runner", "TestALogThatAnotherHasGoneOnWithIsNotARestoredOne"},
	"ended-between-addresses-and-orders":            {"coordinator/runner", "TestALeaderThatIsToEndSendsNoOrders"},
	"address-brought-back":                          {"coordinator/runner", "TestALeaderOfBeforeBringsNoAddressBack"},
	"container-turns-up-after-it-was-forgotten":     {"node", "TestAContainerThatTurnsUpAfterItsEndIsTold"},
	"slot-said-to-wait-that-another-makes-room-for": {"coordinator", "TestTranscripts/room_made"},
	"not-healed-behind-one-that-waits":              {"coordinator", "TestTranscripts/healed_behind"},
	"paused-while-it-rested":                        {"coordinator", "TestTranscripts/paused_while_it_rested"},
	"view-of-a-slot-whose-turn-comes":               {"projections/views", "TestSlotsOfAJobAreShownAsTheirTurnComes"},
	"order-of-before-the-reading":                   {"node/runner", "TestAnOrderFromBeforeTheReadingIsIgnored"},
	"job-failed-before-stays":                       {"coordinator", "TestTranscripts/job"},
	"view-of-a-slot-of-the-topology":                {"projections/views", "TestSlotsOfTheTopologyAreShown"},
	"damaged-while-appends-are-held":                {"cmd/simulation/world", "TestTheLogIsDamagedOnceTheAppendsHaveArrived"},
	"adopted-and-still-a-stray":                     {"projections", "TestAnAdoptedInstanceIsNotAnOrphan"},
	"log-told-twice":                                {"coordinator/runner", "TestAStandbyReadsOnAfterMessagesThatComeTwice"},
	"failover-begun-again-with-each-time-out":       {"coordinator/runner", "TestAFailoverTriesAgainInPlace"},
	"statuses-made-again-under-one-identity":        {"events/bus/memory", "TestWhatReplacesAStreamHasAnotherIdentity"},
	"stale-info-taken-for-a-restored-backup":        {"coordinator/runner", "TestAStreamThatIsSaidToBeAnotherIsAskedAgain"},
	"outdated-end-taken-for-a-new-stream":           {"coordinator/runner", "TestAnOutdatedEndOfTheStatusesIsNotANewStream"},
	"next-one-that-is-tried-again":                  {"cmd/simulation/checker", "TestAClusterIsNotSettledWhileANodeTriesAgain"},
	"orders-of-a-server-that-lags":                  {"events/bus", "TestTheLatestMessagesAreThoseOfTheStreamsLeader"},
}
