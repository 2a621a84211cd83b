"use strict";
// Each look counts the dead letters of a page of groups: six a minute are enough.
Pace(10000);
