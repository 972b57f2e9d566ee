(** The whole check, from the JSON of a certificate to its verdict, proves what it says.

    [check] is extracted to OCaml and compiled into tools/verified-check; only the reading of JSON around it is not proved. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia List.
From Duotone Require Import Step Graph Table Margin MarginPrivate LineCheck LineCertificate GraphCheck GraphCertificate.
From Duotone Require Import Exponential ReadCertificate.
Import ListNotations.
Open Scope R_scope.

(** The privacy that a certificate states: e^epsilon, or the ratio itself where there is no epsilon. *)
Definition states (b : budget) (P : privacy) :=
  ratio P = match stated_epsilon b with Some epsilon => exp (Q2R epsilon) | None => Q2R (stated_ratio b) end /\
  delta P = Q2R (stated_delta b).

(** What is proved of a line: of its table on the levels, and of every other mechanism there; and of margins, each of which is a
    level, clipped, with the table's noise. *)
Definition line_proved (P : privacy) (one : Z) (l : line_certificate) := exists b0 blues r0 reds,
  line_blue l = b0 :: blues /\ line_red l = r0 :: reds /\
  let far := reach (line_cap l) (line_blue l) (line_red l) in
  let M := clipped_table one far (b0, blues) (r0, reds) in
  let entries := line_entries one (line_blue l) (line_red l) in
  let margin level S := margin_chance one (line_lowest (line_red l)) entries (clipped_to (line_cap l) level) S in
  (private P M /\
   forall N, private P N -> asked (line_boundary l) N -> forall level, truth N level < truth M level + / 2 ^ 60) /\
  (forall level, margin level (fun k => 0 <=? k)%Z = M level) /\
  (forall level level' S, (Z.abs (level - level') <= 1)%Z -> seen one entries far S ->
                          margin level S <= ratio P * margin level' S + delta P) /\
  let p := p_value one (line_lowest (line_red l)) entries in
  forall shown x, nearer shown -> (0 <= x)%Z ->
  (forall level, (level <= -1)%Z -> margin level (fun k => (0 <=? shown k) && (p (shown k) <=? x))%Z <= Table.part one x) /\
  (forall level, (0 <= level)%Z -> margin level (fun k => (shown k <? 0) && (p (shown k) <=? x))%Z <= Table.part one x).

(** What is proved of a graph. *)
Definition graph_proved (P : privacy) (one : Z) (c : certificate) :=
  private P (table_of one c) /\
  forall N, private P N -> asked_of P c N -> forall n, truth N n < truth (table_of one c) n + / 2 ^ 60.

Lemma shifted bits : (0 <= bits)%Z -> (0 < Z.shiftl 1 bits)%Z.
Proof. intros; rewrite Z.shiftl_1_l. apply Z.pow_pos_nonneg; lia. Qed.

(** The ratio of the file is not above e^epsilon, and the bound above not below it. *)
Lemma ratio_honest b P y above d : states b P ->
  definition (stated_ratio b) (stated_epsilon b) (stated_delta b) = Some (y, above, d) ->
  (1 <= Q2R y <= ratio P /\ ratio P <= Q2R above) /\ delta P = Q2R d.
Proof.
  intros [R D] H. destruct (definition_range _ _ _ _ H) as (Y & Z & L & _); simpl in Y, Z; subst. split; [|exact D].
  destruct (stated_epsilon b) as [e|].
  - apply definition_right in H. rewrite R. lra.
  - apply definition_of_ratio in H. rewrite H, R. lra.
Qed.

Theorem check_sound j kind count : check j = Some (kind, count) ->
  exists s, read_stated j = Some s /\ of_kind s = kind /\
  forall P, states (of_budget s) P ->
  let one := Z.shiftl 1 (bits_of s) in
  match kind with
  | Line => exists l, read_line (bits_of s) one j = Some l /\ line_proved P one l
  | Graph => exists c, read_graph (bits_of s) one j = Some c /\ graph_proved P one c
  end.
Proof.
  unfold check. destruct (read_stated j) as [s|] eqn:S; [|discriminate].
  destruct (definition _ _ _) as [[[y above] d]|] eqn:D; [|discriminate]. set (one := Z.shiftl 1 (bits_of s)).
  assert (B : (0 < one)%Z).
  { apply shifted. unfold read_stated in S.
    repeat match type of S with match ?x with Some _ => _ | None => None end = _ => destruct x eqn:?; [|discriminate S]
                              | (if ?x then _ else None) = _ => destruct x eqn:?; [|discriminate S] end.
    injection S as <-. simpl. match goal with B : ((64 <=? _)%Z && _)%bool = true |- _ => apply andb_prop in B end; lia. }
  intros H; exists s; split; [reflexivity|]. destruct (of_kind s).
  - destruct (read_line _ _ j) as [l|] eqn:L; [|discriminate].
    destruct (check_line _ _ _ _ _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- _. split; [reflexivity|].
    intros P HP. destruct (ratio_honest _ _ _ _ _ HP D) as [R E]. exists l; split; [reflexivity|].
    destruct (line_blue l) as [| b0 blues] eqn:Lb; [discriminate|].
    destruct (line_red l) as [| r0 reds] eqn:Lr; [discriminate|].
    exists b0, blues, r0, reds. split; [exact Lb|]. split; [exact Lr|]. cbv zeta.
    rewrite Lb, Lr in *. destruct R as [Ry Ra]. destruct (shrunk _ _ _) as [small_y small_d].
    split; [split; [eapply check_line_private; eassumption | eapply check_line_optimal; eassumption]|].
    split; [intros; eapply check_line_sign; eassumption|].
    split; [intros; eapply check_line_margin; eassumption | intros; eapply check_line_p_value; eassumption].
  - destruct (read_graph _ _ j) as [c|] eqn:L; [|discriminate].
    destruct (check_graph _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- _. split; [reflexivity|].
    intros P HP. destruct (ratio_honest _ _ _ _ _ HP D) as [R' E].
    assert (R : 0 <= Q2R y <= ratio P /\ ratio P <= Q2R above) by lra. exists c; split; [reflexivity|].
    split; [eapply check_graph_private; eassumption | eapply check_graph_optimal; eassumption].
Qed.
