(** The whole check, from the JSON of a certificate to its verdict, proves what it says.

    [check] is extracted to OCaml and compiled into tools/verified-check; only the reading of JSON around it is not proved. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia String List Bool.
From Duotone Require Import Step Graph Table Margin MarginPrivate LineCheck LineCertificate GraphCheck GraphCertificate.
From Duotone Require Import Exponential RenyiStep RenyiTable ReadCertificate.
Import ListNotations.
Open Scope R_scope.

(** The privacy that a certificate states: e^epsilon, or the ratio itself where there is no epsilon; or one Rényi order. *)
Definition states (b : budget) (P : privacy) :=
  ratio P = match stated_epsilon b with Some epsilon => exp (Q2R epsilon) | None => Q2R (stated_ratio b) end /\
  delta P = Q2R (stated_delta b).

Definition states_order (o : order_budget) (Q : one_order) :=
  power Q = Pos.to_nat (stated_power o) /\ price Q = Q2R (stated_price o) /\ lost Q = Q2R (stated_lost o).

(** What is proved of a line: of its table on the levels, and of every other mechanism there ... *)
Definition answers_proved (P : closeness) (one : Z) (l : line_certificate) b0 blues r0 reds :=
  line_blue l = b0 :: blues /\ line_red l = r0 :: reds /\
  let M := clipped_table one (reach (line_cap l) (line_blue l) (line_red l)) (b0, blues) (r0, reds) in
  private P M /\ forall N, private P N -> asked (line_boundary l) N -> forall level, truth N level < truth M level + / 2 ^ 60.

(** ... and of margins, each of which is a level, clipped, with the table's noise. *)
Definition margins_proved (P : privacy) (one : Z) (l : line_certificate) b0 blues r0 reds :=
  let far := reach (line_cap l) (line_blue l) (line_red l) in
  let M := clipped_table one far (b0, blues) (r0, reds) in
  let entries := line_entries one (line_blue l) (line_red l) in
  let margin level S := margin_chance one (line_lowest (line_red l)) entries (clipped_to (line_cap l) level) S in
  (forall level, margin level (fun k => 0 <=? k)%Z = M level) /\
  (forall level level' S, (Z.abs (level - level') <= 1)%Z -> seen one entries far S ->
                          margin level S <= ratio P * margin level' S + delta P) /\
  let p := p_value one (line_lowest (line_red l)) entries in
  forall shown x, nearer shown -> (0 <= x)%Z ->
  (forall level, (level <= -1)%Z -> margin level (fun k => (0 <=? shown k) && (p (shown k) <=? x))%Z <= Table.part one x) /\
  (forall level, (0 <= level)%Z -> margin level (fun k => (shown k <? 0) && (p (shown k) <=? x))%Z <= Table.part one x).

(** What is proved of a graph. *)
Definition graph_proved (P : closeness) (one : Z) (c : certificate) :=
  private P (table_of one c) /\
  forall N, private P N -> asked_of P c N -> forall n, truth N n < truth (table_of one c) n + / 2 ^ 60.

(** All of it. *)
Definition proved (s : stated) (j : json) :=
  let one := Z.shiftl 1 (bits_of s) in
  match of_promise s, of_kind s with
  | ByRatio b, Line => forall P, states b P -> exists l b0 blues r0 reds, read_line true (bits_of s) one j = Some l /\
      answers_proved P one l b0 blues r0 reds /\ margins_proved P one l b0 blues r0 reds
  | ByRatio b, Graph => forall P, states b P -> exists c, read_graph (bits_of s) one j = Some c /\ graph_proved P one c
  | ByOrder o, Line => forall Q, states_order o Q -> exists l b0 blues r0 reds, read_line false (bits_of s) one j = Some l /\
      answers_proved Q one l b0 blues r0 reds
  | ByOrder o, Graph => forall Q, states_order o Q -> exists c, read_graph (bits_of s) one j = Some c /\ graph_proved Q one c
  end.

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

(** What is read of a Rényi order is one. *)
Theorem order_is_one order j o : read_order order j = Some o -> exists Q, states_order o Q.
Proof.
  unfold read_order. destruct (integer order) as [n|]; [|discriminate]. destruct (_ && _); [|discriminate].
  destruct (field "price"%string j) as [p|]; [|discriminate]. destruct (number LONGEST p) as [T|]; [|discriminate].
  destruct (field "delta"%string j) as [t|]; [|discriminate]. destruct (number LONGEST t) as [d|]; [|discriminate].
  destruct (_ && _ && _) eqn:C; [|discriminate]. intros [= <-].
  rewrite !andb_true_iff in C; destruct C as [[A%Qle_bool_R B%Qle_bool_R] D%not_Qle_bool_R].
  rewrite ?Q2R_1, ?RMicromega.Q2R_0 in *. unfold states_order; cbn [stated_power stated_price stated_lost].
  exists {| power := Pos.to_nat (Z.to_pos (n - 1)); price := Q2R T; lost := Q2R d; power_least := Pos2Nat.is_pos _;
            price_least := A; lost_range := conj B D |}. auto.
Qed.

Theorem by_ratio_sound k bits b j kind count : (0 < Z.shiftl 1 bits)%Z ->
  check_by_ratio k bits b j = Some (kind, count) -> k = kind /\
  proved {| of_kind := k; bits_of := bits; of_promise := ByRatio b |} j.
Proof.
  unfold check_by_ratio, proved; cbn [of_promise of_kind bits_of]. set (one := Z.shiftl 1 bits). intros B.
  destruct (definition _ _ _) as [[[y above] d]|] eqn:D; [|discriminate]. intros H. destruct k.
  - destruct (read_line _ _ _ j) as [l|] eqn:L; [|discriminate].
    destruct (check_line _ _ _ _ _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- _. split; [reflexivity|].
    intros P HP. destruct (ratio_honest _ _ _ _ _ HP D) as [R E]. exists l.
    apply andb_prop in C as S. destruct S as [_ S].
    destruct (line_blue l) as [| b0 blues] eqn:Lb; [discriminate|].
    destruct (line_red l) as [| r0 reds] eqn:Lr; [discriminate|]. clear S.
    exists b0, blues, r0, reds. split; [reflexivity|]. unfold answers_proved, margins_proved.
    rewrite Lb, Lr in *. destruct R as [Ry Ra]. destruct (shrunk _ _ _) as [small_y small_d].
    split; [split; [reflexivity|]; split; [reflexivity|]; split;
            [eapply check_line_private; eassumption | eapply check_line_optimal; eassumption]|].
    split; [intros; eapply check_line_sign; eassumption|].
    split; [intros; eapply check_line_margin; eassumption | intros; eapply check_line_p_value; eassumption].
  - destruct (read_graph _ _ j) as [c|] eqn:L; [|discriminate].
    destruct (check_graph _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- _. split; [reflexivity|].
    intros P HP. destruct (ratio_honest _ _ _ _ _ HP D) as [R' E].
    assert (R : 0 <= Q2R y <= ratio P /\ ratio P <= Q2R above) by lra. exists c; split; [reflexivity|].
    split; [eapply check_graph_private; eassumption | eapply check_graph_optimal; eassumption].
Qed.

Theorem by_order_sound k bits o j kind count : (0 < Z.shiftl 1 bits)%Z ->
  check_by_order k bits o j = Some (kind, count) -> k = kind /\
  proved {| of_kind := k; bits_of := bits; of_promise := ByOrder o |} j.
Proof.
  unfold check_by_order, proved; cbn [of_promise of_kind bits_of]. set (one := Z.shiftl 1 bits). intros B H. destruct k.
  - destruct (read_line _ _ _ j) as [l|] eqn:L; [|discriminate]. destruct (line_cap l) eqn:Lc; [discriminate|].
    destruct (check_sides _ _ _ _ _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- _. split; [reflexivity|].
    intros Q (Hp & HT & Hd). exists l. destruct (line_blue l) as [| b0 blues] eqn:Lb; [discriminate|].
    destruct (line_red l) as [| r0 reds] eqn:Lr; [discriminate|]. exists b0, blues, r0, reds.
    split; [reflexivity|]. unfold answers_proved. rewrite Lb, Lr, Lc. do 2 (split; [reflexivity|]).
    assert (F : (1 <= reach None (b0 :: blues) (r0 :: reds))%Z) by (unfold reach; rewrite !many_length; cbn [length]; lia).
    split.
    + eapply sides_private; try eassumption. intros p q. eapply by_price_sound; eassumption.
    + eapply sides_optimal; try eassumption.
      * intros x top. eapply renyi_rise_sound; eassumption.
      * intros t x. eapply renyi_balanced_sound; eassumption.
  - destruct (read_graph _ _ j) as [c|] eqn:L; [|discriminate].
    destruct (check_nodes _ _ _ _ _ _ _) eqn:C; [|discriminate]. injection H as <- _. split; [reflexivity|].
    intros Q (Hp & HT & Hd). exists c. split; [reflexivity|]. split.
    + eapply nodes_private; try eassumption. intros p q. eapply by_price_sound; eassumption.
    + eapply nodes_optimal; try eassumption.
      * intros x top. eapply renyi_rise_sound; eassumption.
      * intros t x. eapply renyi_balanced_sound; eassumption.
Qed.

Theorem check_sound j kind count : check j = Some (kind, count) ->
  exists s, read_stated j = Some s /\ of_kind s = kind /\ proved s j.
Proof.
  unfold check. destruct (read_stated j) as [s|] eqn:S; [|discriminate].
  assert (B : (0 < Z.shiftl 1 (bits_of s))%Z).
  { apply shifted. unfold read_stated in S.
    repeat match type of S with match ?x with Some _ => _ | None => None end = _ => destruct x eqn:?; [|discriminate S]
                              | (if ?x then _ else None) = _ => destruct x eqn:?; [|discriminate S] end.
    injection S as <-. simpl. match goal with B : ((64 <=? _)%Z && _)%bool = true |- _ => apply andb_prop in B end; lia. }
  intros H; exists s; split; [reflexivity|]. destruct s as [k bits promise]. cbn [of_kind bits_of of_promise] in *.
  destruct promise as [b | o]; [eapply by_ratio_sound in H | eapply by_order_sound in H]; auto; apply H.
Qed.
