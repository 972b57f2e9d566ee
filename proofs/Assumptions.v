(** What the main theorems rest on: the axioms of Coq's real numbers, or nothing where integers suffice. Tau.v and TauBelow.v
    alone add excluded middle, by the library's logarithm; [theorem_4_steps] and [theorem_5_counted] do without one. *)

From Duotone Require Import Step Graph Morphism Optimum BoundaryMorphism LineMechanism ClosedForm.
From Duotone Require Import Transition Tau TauBelow Balanced Figure2 Errata.
From Duotone Require Import Levels Combined Threshold Scores Somebody Ends.
From Duotone Require Import Table Coin Bytes Exponential LineCertificate GraphCertificate.
From Duotone Require Import LineComplete LineWritten GraphComplete ReadNumber VerifiedCheck CheckComplete.
From Duotone Require Import Margin MarginPrivate MarginDrawn Groups Which WhichRight WhichRenyi.
From Duotone Require Import Sum Renyi RenyiStep RenyiTable CloseCalls ThreeWay Concurrent NodeFunctions CloseCallsCertificate.

(** The paper. *)
Print Assumptions private_iff_phi.
Print Assumptions theorem_1.
Print Assumptions theorem_2.
Print Assumptions bound_is_minimum.
Print Assumptions theorem_3_optimal.
Print Assumptions signed_distance_optimal.
Print Assumptions closed_form.
Print Assumptions theorem_4_steps.
Print Assumptions theorem_5_counted.
Print Assumptions balanced_optimum_dominates.
Print Assumptions corollary_2.
Print Assumptions unequal_optimal.
Print Assumptions introduction_is_not_private.

(** Levels: no axiom. *)
Print Assumptions exact_levelling.
Print Assumptions all_levelling.
Print Assumptions levels_exact.
Print Assumptions who_matters.
Print Assumptions level_with_somebody_zero.
Print Assumptions levels_within_reach.

(** Tables, coins and the checker. *)
Print Assumptions allowed_sound.
Print Assumptions answer_bytes_exact.
Print Assumptions answers_bytes_exact.
Print Assumptions drawn_exact.
Print Assumptions definition_right.
Print Assumptions check_line_iff.
Print Assumptions written_accepted.
Print Assumptions check_graph_iff.
Print Assumptions number_of_iff.
Print Assumptions check_sound.
Print Assumptions check_iff.

(** Margins. *)
Print Assumptions clipped_private.
Print Assumptions clipped_sign_exact.
Print Assumptions p_value_sound.
Print Assumptions certain_sound.
Print Assumptions at_least_wrong_seldom.
Print Assumptions margin_bytes_exact.
Print Assumptions margin_private.
Print Assumptions margin_sign.
Print Assumptions margin_honest.
Print Assumptions optimal_margin_private.
Print Assumptions groups_private.

(** Which of k. *)
Print Assumptions ordered_private.
Print Assumptions alike_private.
Print Assumptions first_private.
Print Assumptions mean_most.
Print Assumptions event_most.
Print Assumptions which_sound.
Print Assumptions shared_renyi.
Print Assumptions chosen_renyi.

(** The ledger, and close calls. *)
Print Assumptions sum_whatever_is_asked.
Print Assumptions renyi_whatever_is_asked.
Print Assumptions alike_iff.
Print Assumptions renyi_concave.
Print Assumptions private_at_its_price.
Print Assumptions by_price_iff.
Print Assumptions renyi_tight_iff.
Print Assumptions close_calls.
Print Assumptions three_way_private.
Print Assumptions certificate_private.
Print Assumptions together.

(** With a logarithm. *)
Print Assumptions theorem_4.
Print Assumptions theorem_4_below.
Print Assumptions theorem_5.
